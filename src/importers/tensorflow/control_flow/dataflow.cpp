#include "importers/tensorflow/control_flow/dataflow.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/control_flow/dataflow_graph.h"
#include "importers/tensorflow/node_outputs.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;

bool has_dataflow(const ImportNode& node) {
  return dataflow_op(node) != DataflowOp::none;
}

/// The number of a function's result: `node:output:1` becomes `node:1`, as graphs have it.
class ByNumber {
public:
  ByNumber(const std::vector<ImportNode>& nodes, const FunctionOutputs& functions) : functions_(functions) {
    for (const ImportNode& node : nodes) nodes_.emplace(node.name, &node);
  }

  std::string operator()(const std::string& reference) const {
    const std::size_t first = reference.find(':');
    const std::size_t second = first == std::string::npos ? first : reference.find(':', first + 1);
    if (second == std::string::npos) return reference;
    const std::string name = reference.substr(0, first);
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) return reference;
    const std::string argument = reference.substr(first + 1, second - first - 1);
    const DataflowInput within = parsed_input(name + reference.substr(second));
    return tensor_name(name, first_of(*node->second, argument) + within.result);
  }

private:
  std::int64_t first_of(const ImportNode& node, const std::string& argument) const {
    if (dataflow_op(node) == DataflowOp::switch_op) return argument == "output_true" ? 1 : 0;
    if (dataflow_op(node) == DataflowOp::merge) return argument == "value_index" ? 1 : 0;
    return first_result(node, argument, functions_);
  }

  const FunctionOutputs& functions_;
  std::map<std::string, const ImportNode*, std::less<>> nodes_;
};

/// Names of nodes that others read.
std::set<std::string> nodes_read(const std::vector<ImportNode>& nodes) {
  std::set<std::string> read;
  for (const ImportNode& node : nodes)
    for (const std::string& input : node.inputs) read.insert(node_of(input));
  return read;
}

/// Every result that only exists in a branch or an iteration must have been used there: what nothing read is
/// an output of the graph.
void check_no_output_lost(const std::vector<ImportNode>& before, const std::vector<ImportNode>& after) {
  std::set<std::string> read, kept;
  std::map<std::string, const ImportNode*, std::less<>> by_name;
  for (const ImportNode& node : before) {
    by_name.emplace(node.name, &node);
    for (const std::string& input : node.inputs) read.insert(parsed_input(input).node);
  }
  for (const ImportNode& node : after) kept.insert(node.name);
  // The first value of a branch, for control edges.
  const auto is_pivot = [&](const ImportNode& node) {
    if (node.op != "Identity" || node.inputs.empty()) return false;
    const auto from = by_name.find(node_of(node.inputs[0]));
    return from != by_name.end() && dataflow_op(*from->second) == DataflowOp::switch_op;
  };
  for (const ImportNode& node : before)
    check(kept.contains(node.name) || read.contains(node.name) || is_pivot(node) || node.op == "Const" ||
              node.op == "NoOp" || node.op == "Assert",
          ErrorCode::unsupported, "node {} is in a branch or a loop, and nothing leads out of it",
          one_line(node.name, longest_shown));
}

/// Whether a node is the end of a loop's variable that lowering a While made; tf.while_loop calls it Exit.
bool is_lowered_exit(const ImportNode& node) {
  const std::size_t number = node.name.rfind("/_");
  return dataflow_op(node) == DataflowOp::exit && number != std::string::npos &&
         std::string_view(node.name).substr(0, number).ends_with("exit");
}

/// Removes lowered loops' variables that nothing reads: a While's results that nobody wants are no outputs.
void remove_lowered_exits(const std::vector<ImportNode>& before, std::vector<ImportNode>& after) {
  const std::set<std::string> read = nodes_read(before);
  std::set<std::string> exits;
  bool has_output = false;
  for (const ImportNode& node : before) {
    if (read.contains(node.name)) continue;
    if (is_lowered_exit(node))
      exits.insert(node.name);
    else if (node.op != "Const" && node.op != "NoOp" && node.op != "Placeholder")
      has_output = true;
  }
  if (has_output) std::erase_if(after, [&](const ImportNode& node) { return exits.contains(node.name); });
}

/// Removes nodes that were read and no longer are, as a copy of a predicate is: nodes that nothing reads are
/// the graph's outputs.
void remove_unread(std::vector<ImportNode>& nodes, const std::set<std::string>& were_read) {
  std::map<std::string, const ImportNode*, std::less<>> by_name;
  std::map<std::string, std::size_t, std::less<>> readers;
  for (const ImportNode& node : nodes) {
    by_name.emplace(node.name, &node);
    for (const std::string& input : node.inputs) ++readers[node_of(input)];
  }
  std::set<std::string, std::less<>> removed;
  std::vector<std::string> waiting;
  const auto consider = [&](const std::string& name) {
    if (readers[name] == 0 && were_read.contains(name) && by_name.contains(name)) waiting.push_back(name);
  };
  for (const ImportNode& node : nodes) consider(node.name);
  while (!waiting.empty()) {
    const std::string name = std::move(waiting.back());
    waiting.pop_back();
    if (!removed.insert(name).second) continue;
    for (const std::string& input : by_name.at(name)->inputs) {
      const std::string from = node_of(input);
      if (readers[from] > 0) --readers[from];
      consider(from);
    }
  }
  std::erase_if(nodes, [&](const ImportNode& node) { return removed.contains(node.name); });
}

/// A node that was made of a frame or a conditional.
bool is_made(const ImportNode& node) {
  const auto is_graph = [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<ImportGraph>>(entry.second.value);
  };
  return std::ranges::any_of(node.attributes, is_graph);
}

/// For each node that was made: the nodes that are gone and on which its results depend.
void add_originals(const std::vector<ImportNode>& before, const std::vector<ImportNode>& after,
                   Originals& originals) {
  std::map<std::string, const ImportNode*, std::less<>> gone, made;
  for (const ImportNode& node : before) gone.emplace(node.name, &node);
  for (const ImportNode& node : after)
    if (is_made(node)) made.emplace(node.name, &node);
  std::map<std::string, std::vector<std::string>, std::less<>> ends; // by node that was made
  for (const ImportNode& node : after) {
    const auto from = node.inputs.empty() ? made.end() : made.find(node_of(node.inputs[0]));
    const auto was = gone.find(node.name);
    if (from != made.end() && was != gone.end() && has_dataflow(*was->second)) {
      originals[from->first].results[node.inputs[0]] = node.name;
      ends[from->first].push_back(node.name);
    } else if (!made.contains(node.name) && (was == gone.end() || !has_dataflow(*was->second))) {
      gone.erase(node.name); // what stays of an Enter is a copy
    }
  }
  for (auto& [name, waiting] : ends) {
    std::set<std::string, std::less<>> seen;
    while (!waiting.empty()) {
      check_deadline();
      const std::string inner = parsed_input(waiting.back()).node;
      waiting.pop_back();
      const auto node = gone.find(inner);
      if (node == gone.end() || !seen.insert(inner).second) continue;
      originals[name].nodes.push_back(*node->second);
      waiting.insert(waiting.end(), node->second->inputs.begin(), node->second->inputs.end());
    }
  }
}

} // namespace

void structure_dataflow(std::vector<ImportNode>& nodes, const FunctionOutputs& functions,
                        References::Form form, Originals* originals) {
  if (std::ranges::none_of(nodes, has_dataflow)) return;
  try {
    std::vector<ImportNode> made = nodes;
    if (form == References::Form::in_function) {
      const ByNumber by_number(nodes, functions);
      for (ImportNode& node : made)
        for (std::string& input : node.inputs) input = by_number(input);
    }
    made = without_conditionals(without_frames(std::move(made), functions), functions);
    if (form == References::Form::in_graph) {
      check_no_output_lost(nodes, made);
      remove_lowered_exits(nodes, made);
      remove_unread(made, nodes_read(nodes));
    }
    if (originals) add_originals(nodes, made, *originals);
    nodes = std::move(made);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::bad_data) throw;
    for (ImportNode& node : nodes) {
      if (!has_dataflow(node)) continue;
      node.attributes[dataflow_reason] = {error.message(), {}};
      // Without the cycle an order of the nodes exists, and the reason is what is told.
      if (dataflow_op(node) == DataflowOp::next_iteration)
        node.attributes[back_edges] = {std::exchange(node.inputs, {}), {}};
    }
  }
}

} // namespace lanner::tensorflow
