// Frames of while loops. Each variable of a loop is Enter -> Merge -> Switch, from whose second result the
// body leads to NextIteration and back to the Merge, and from whose first result Exit leads out.

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/control_flow/dataflow_graph.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;

/// The frames around a node, by number: 0 is none.
using Path = std::size_t;

/// A frame's name and the frame that it is in.
class PathTable {
public:
  std::size_t depth(Path path) const { return path == 0 ? 0 : entries_[path - 1].depth; }
  Path around(Path path) const { return path == 0 ? 0 : entries_[path - 1].around; }
  Path within(Path around, const std::string& name) {
    const auto [known, added] = ids_.try_emplace({around, name}, entries_.size() + 1);
    if (added) entries_.push_back({around, depth(around) + 1});
    return known->second;
  }

private:
  struct Entry {
    Path around;
    std::size_t depth;
  };
  std::map<std::pair<Path, std::string>, Path> ids_;
  std::vector<Entry> entries_;
};

std::string frame_name(const ImportNode& enter) {
  const auto found = enter.attributes.find("frame_name");
  const auto* name =
      found == enter.attributes.end() ? nullptr : std::get_if<std::string>(&found->second.value);
  check(name != nullptr, ErrorCode::unsupported, "node {} names no frame",
        one_line(enter.name, longest_shown));
  return *name;
}

bool is_constant(const ImportNode& enter) {
  const auto found = enter.attributes.find("is_constant");
  const auto* flag =
      found == enter.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second.value);
  return flag && *flag != 0;
}

/// A variable of a loop.
struct Variable {
  std::string merge, switch_node; ///< No switch where the body and what follows the loop do not read it.
  std::string first, next;        ///< Inputs as written: before the loop, and after one iteration.
};

class Frames {
public:
  Frames(std::vector<ImportNode> nodes, const FunctionOutputs& functions)
      : graph_(std::move(nodes), functions) {
    find_readers();
    find_paths();
    for (const std::string& name : graph_.order()) {
      const DataflowOp op = dataflow_op(*graph_.find(name));
      if (op == DataflowOp::enter || op == DataflowOp::merge) members_[path(name)].push_back(name);
      if (op == DataflowOp::loop_cond && path(name) != 0) inner_[table_.around(path(name))].push_back(name);
    }
  }

  std::vector<ImportNode> run() {
    for (const std::string& condition : inner_[0]) structure(condition);
    std::vector<ImportNode> kept;
    for (const std::string& name : graph_.order())
      if (path(name) == 0) kept.push_back(std::move(*graph_.find(name)));
    return kept;
  }

private:
  Path path(const std::string& name) const {
    const auto found = paths_.find(name);
    return found == paths_.end() ? 0 : found->second;
  }

  void find_readers() {
    for (const std::string& name : graph_.order())
      for (const std::string& input : graph_.find(name)->inputs)
        readers_[parsed_input(input).node].push_back(name);
  }

  /// A node is in the innermost of the frames that its inputs are in.
  void find_paths() {
    std::vector<std::string> waiting(graph_.order().rbegin(), graph_.order().rend());
    while (!waiting.empty()) {
      check_deadline();
      const std::string name = std::move(waiting.back());
      waiting.pop_back();
      const ImportNode& node = *graph_.find(name);
      const Path after = path_after(node);
      const auto known = paths_.find(name);
      if (known != paths_.end() && table_.depth(known->second) >= table_.depth(after)) continue;
      paths_[name] = after;
      for (const std::string& reader : readers_[name])
        if (graph_.find(reader)) waiting.push_back(reader);
    }
  }

  Path path_after(const ImportNode& node) {
    Path deepest = 0;
    for (const std::string& reference : node.inputs) {
      const Path of_input = path(parsed_input(reference).node);
      if (table_.depth(of_input) > table_.depth(deepest)) deepest = of_input;
    }
    if (dataflow_op(node) == DataflowOp::enter) deepest = table_.within(deepest, frame_name(node));
    if (dataflow_op(node) == DataflowOp::exit) deepest = table_.around(deepest);
    constexpr std::size_t most = 64;
    check(table_.depth(deepest) <= most, ErrorCode::unsupported, "loops are nested more than {} deep", most);
    return deepest;
  }

  /// Replaces the frame of this LoopCond, and first those inside of it.
  void structure(const std::string& condition) {
    const Path frame = path(condition);
    for (const std::string& inner : inner_[frame]) structure(inner);
    pass_constants(frame);
    const std::vector<Variable> variables = variables_of(frame, condition);
    const ImportNode& loop_cond = *graph_.find(condition);
    check(!loop_cond.inputs.empty(), ErrorCode::unsupported, "node {} has no input",
          one_line(condition, longest_shown));
    make_loop(frame, condition, loop_cond.inputs[0], variables);
  }

  /// What a frame takes in as a constant is a value of the graph around it.
  void pass_constants(Path frame) {
    for (const std::string& name : members_[frame]) {
      ImportNode& node = *graph_.find(name);
      if (dataflow_op(node) != DataflowOp::enter || !is_constant(node)) continue;
      check(!node.inputs.empty(), ErrorCode::unsupported, "node {} has no input",
            one_line(name, longest_shown));
      node = passing(name, {node.inputs[0]});
      paths_[name] = table_.around(frame);
    }
  }

  std::vector<Variable> variables_of(Path frame, const std::string& condition) {
    std::vector<Variable> variables;
    for (const std::string& name : members_[frame]) {
      const ImportNode& node = *graph_.find(name);
      if (dataflow_op(node) != DataflowOp::merge || !is_head(node)) continue;
      Variable variable;
      variable.merge = name;
      bool other = false; // of another loop with the same name
      for (const std::string& reader : readers_[name])
        if (const ImportNode* found = graph_.find(reader); found && is_gate(*found, name)) {
          const ImportNode* decision = graph_.find(source(found->inputs[1]));
          if (!decision || dataflow_op(*decision) != DataflowOp::loop_cond) continue; // a conditional's
          const bool own = decision->name == condition;
          other = other || !own;
          check(!own || variable.switch_node.empty() || variable.switch_node == reader,
                ErrorCode::unsupported, "two Switches read the loop's variable {}",
                one_line(name, longest_shown));
          if (own) variable.switch_node = reader;
        }
      if (other) continue;
      for (const std::string& reference : node.inputs) {
        if (parsed_input(reference).control) continue;
        const ImportNode& from = *graph_.find(parsed_input(reference).node);
        const bool next = dataflow_op(from) == DataflowOp::next_iteration;
        check(!from.inputs.empty(), ErrorCode::unsupported, "node {} has no input",
              one_line(from.name, longest_shown));
        (next ? variable.next : variable.first) = from.inputs[0];
      }
      variables.push_back(std::move(variable));
    }
    return variables;
  }

  /// Whether a Merge joins a value from before a loop with one of an iteration.
  bool is_head(const ImportNode& merge) {
    std::size_t enters = 0, repeats = 0, others = 0;
    for (const std::string& reference : merge.inputs) {
      const DataflowInput input = parsed_input(reference);
      if (input.control) continue;
      const ImportNode* from = graph_.find(input.node);
      const DataflowOp op = from ? dataflow_op(*from) : DataflowOp::none;
      ++(op == DataflowOp::enter ? enters : op == DataflowOp::next_iteration ? repeats : others);
    }
    return enters == 1 && repeats == 1 && others == 0;
  }

  static bool is_gate(const ImportNode& node, const std::string& merge) {
    return dataflow_op(node) == DataflowOp::switch_op && node.inputs.size() >= 2 &&
           parsed_input(node.inputs[0]).node == merge;
  }

  /// The node behind copies.
  std::string source(const std::string& reference) {
    std::vector<std::string> passed;
    std::string name = parsed_input(reference).node;
    for (;;) {
      if (const auto known = sources_.find(name); known != sources_.end()) {
        name = known->second;
        break;
      }
      const ImportNode* node = graph_.find(name);
      if (!node || node->op != "Identity" || node->inputs.empty() || passed.size() > graph_.order().size())
        break;
      passed.push_back(name);
      name = parsed_input(node->inputs[0]).node;
    }
    for (std::string& copy : passed) sources_.emplace(std::move(copy), name);
    return name;
  }

  void make_loop(Path frame, const std::string& condition, const std::string& decision,
                 const std::vector<Variable>& variables) {
    std::map<std::string, std::string, std::less<>> before, within; // values of the variables by name
    std::vector<std::string> heads, gates, next;
    ImportNode loop;
    loop.name = condition;
    loop.op = "While";
    for (const Variable& variable : variables) {
      const std::string gate = variable.switch_node.empty() ? graph_.unique_name(variable.merge + "/value")
                                                            : tensor_name(variable.switch_node, 1);
      before[variable.merge] = variable.merge;
      within[variable.merge] = gate;
      if (!variable.switch_node.empty()) within[variable.switch_node] = gate;
      heads.push_back(variable.merge);
      gates.push_back(gate);
      next.push_back(variable.next);
      loop.inputs.push_back(variable.first);
    }
    const auto cond = part(frame, "cond", before, heads, {decision});
    const auto body = part(frame, "body", within, gates, next);
    std::set<std::string> outer = outer_names(*cond);
    outer.merge(outer_names(*body));
    loop.inputs.insert(loop.inputs.end(), outer.begin(), outer.end());
    loop.attributes["cond"] = {cond, {}};
    loop.attributes["body"] = {body, {}};
    loop.attributes["T"] = {std::vector<std::int64_t>(variables.size()), {}};
    keep_exits(variables, loop.name);
    paths_[condition] = table_.around(frame);
    graph_.add(std::move(loop));
  }

  void keep_exits(const std::vector<Variable>& variables, const std::string& loop) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      for (const std::string& name : readers_[variables[i].switch_node]) {
        ImportNode* node = graph_.find(name);
        if (!node || dataflow_op(*node) != DataflowOp::exit || node->inputs.empty()) continue;
        check(parsed_input(node->inputs[0]).result == 0, ErrorCode::unsupported,
              "node {} leaves its loop in the middle of an iteration", one_line(name, longest_shown));
        *node = passing(name, {tensor_name(loop, static_cast<std::int64_t>(i))});
      }
    }
  }

  /// The graph that leads from the variables, by their names in `values`, to the results.
  std::shared_ptr<ImportGraph> part(Path frame, const char* kind,
                                    const std::map<std::string, std::string, std::less<>>& values,
                                    const std::vector<std::string>& inputs,
                                    std::vector<std::string> results) {
    std::vector<ImportNode> nodes;
    std::set<std::string> seen;
    std::vector<std::string> waiting;
    const auto read = [&](std::string& reference) {
      const DataflowInput input = parsed_input(reference);
      if (input.control) return;
      if (const auto value = values.find(input.node); value != values.end())
        reference = value->second;
      else if (is_within(input.node, frame) && seen.insert(input.node).second)
        waiting.push_back(input.node);
    };
    for (std::string& result : results) read(result);
    while (!waiting.empty()) {
      graph_.count_copy();
      ImportNode node = *graph_.find(waiting.back());
      waiting.pop_back();
      const DataflowOp op = dataflow_op(node);
      check(op == DataflowOp::none || op == DataflowOp::switch_op || op == DataflowOp::merge,
            ErrorCode::unsupported, "node {} ({}) is in a loop's {}", one_line(node.name, longest_shown),
            one_line(node.op, longest_shown), kind);
      for (std::string& input : node.inputs) read(input);
      keep_control_edges(node, frame, values, seen, waiting);
      nodes.push_back(std::move(node));
    }
    nodes = without_conditionals(std::move(nodes), graph_.functions());
    return inner_graph(kind, inputs, std::move(nodes), std::move(results), graph_.functions());
  }

  bool is_within(const std::string& name, Path frame) {
    const ImportNode* node = graph_.find(name);
    return node && (path(name) == frame || is_small_constant(node));
  }

  /// Within the part, control edges say which branch of a conditional a constant is in.
  void keep_control_edges(ImportNode& node, Path frame,
                          const std::map<std::string, std::string, std::less<>>& values,
                          std::set<std::string>& seen, std::vector<std::string>& waiting) {
    std::erase_if(node.inputs, [&](const std::string& reference) {
      const DataflowInput input = parsed_input(reference);
      if (!input.control) return false;
      const ImportNode* from = graph_.find(input.node);
      if (!from || path(input.node) != frame || values.contains(input.node)) return true;
      const DataflowOp op = dataflow_op(*from);
      if (op != DataflowOp::none && op != DataflowOp::switch_op && op != DataflowOp::merge) return true;
      if (seen.insert(input.node).second) waiting.push_back(input.node);
      return false;
    });
  }

  DataflowGraph graph_;
  std::map<std::string, std::vector<std::string>, std::less<>> readers_;
  PathTable table_;
  std::map<std::string, Path, std::less<>> paths_;
  std::map<std::string, std::string, std::less<>> sources_; ///< Of copies.
  std::map<Path, std::vector<std::string>> members_;        ///< Enters and Merges of each frame.
  std::map<Path, std::vector<std::string>> inner_; ///< LoopConds of the frames directly inside of each.
};

} // namespace

std::vector<ImportNode> without_frames(std::vector<ImportNode> nodes, const FunctionOutputs& functions) {
  return Frames(std::move(nodes), functions).run();
}

} // namespace lanner::tensorflow
