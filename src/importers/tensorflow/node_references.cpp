#include "importers/tensorflow/node_references.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/node_outputs.h"
#include "importers/tensorflow/state.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;

/// Limit on the tensors of one graph's nodes: a number in a file must not turn into as many names.
constexpr std::int64_t max_tensors = 1 << 22;

std::int64_t number_of(std::string_view digits, const std::string& reference) {
  constexpr std::int64_t most = 1 << 16;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  check(error == std::errc{} && end == digits.data() + digits.size() && number >= 0 && number < most,
        ErrorCode::bad_data, "'{}' is not a result of a node; expected a small number after the colon",
        one_line(reference, longest_shown));
  return number;
}

bool is_control(std::string_view reference) {
  return reference.starts_with('^');
}

/// Nodes on which the results depend.
std::set<std::string_view> needed(const std::map<std::string, const ImportNode*, std::less<>>& nodes,
                                  const std::vector<std::string>& results) {
  std::set<std::string_view> found;
  std::vector<std::string> waiting(results);
  while (!waiting.empty()) {
    check_deadline();
    const auto node = nodes.find(node_of(waiting.back()));
    waiting.pop_back();
    if (node == nodes.end() || !found.insert(node->first).second) continue;
    waiting.insert(waiting.end(), node->second->inputs.begin(), node->second->inputs.end());
  }
  return found;
}

} // namespace

std::string node_of(std::string_view reference) {
  return is_control(reference) ? std::string() : std::string(reference.substr(0, reference.find(':')));
}

std::string tensor_name(std::string_view node, std::int64_t i) {
  return i == 0 ? std::string(node) : fmt::format("{}:{}", node, i);
}

std::int64_t first_result(const ImportNode& node, const std::string& argument,
                          const FunctionOutputs& functions) {
  if (const auto function = functions.find(node.op); function != functions.end()) {
    const auto place = function->second.find(argument);
    return place == function->second.end() ? 0 : place->second;
  }
  std::int64_t first = 0;
  for (const OutputArgument& one : output_arguments(node)) {
    if (one.name == argument) return first;
    first += one.count;
  }
  return 0;
}

std::string References::resolved(const std::string& reference) {
  const std::size_t colon = reference.find(':');
  if (colon == std::string::npos) return reference;
  const std::string node = reference.substr(0, colon), rest = reference.substr(colon + 1);
  const std::size_t second = rest.find(':');
  if (form_ == Form::in_graph || second == std::string::npos)
    return tensor_name(node, number_of(rest, reference));
  const auto found = nodes_.find(node);
  const std::string argument = rest.substr(0, second);
  const std::int64_t first = found == nodes_.end() ? 0 : first_result(*found->second, argument, functions_);
  if (found != nodes_.end() && !functions_.contains(found->second->op) && !knows_results(found->second->op) &&
      !found->second->attributes.contains(results_attribute)) {
    const auto [known, added] = unknown_.emplace(node, argument);
    check(added || known->second == argument, ErrorCode::unsupported,
          "node {} ({}): the order of its results '{}' and '{}' is not known; expected a SavedModel with "
          "TensorFlow's list of its operators",
          one_line(node, longest_shown), one_line(found->second->op, longest_shown),
          one_line(known->second, longest_shown), one_line(argument, longest_shown));
  }
  return tensor_name(node, first + number_of(rest.substr(second + 1), reference));
}

void References::call_functions(std::vector<ImportNode>& nodes) const {
  for (ImportNode& node : nodes) {
    if (functions_.contains(node.op)) {
      node.domain = function_domain;
    } else if (node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall") {
      const auto called = node.attributes.find("f");
      const auto* name =
          called == node.attributes.end() ? nullptr : std::get_if<std::string>(&called->second.value);
      check(name && functions_.contains(*name), ErrorCode::bad_data,
            "node {}: calls a function that the model does not have", one_line(node.name, longest_shown));
      node.op = *name;
      node.domain = function_domain;
    }
  }
}

bool References::keeps_order(const ImportNode& node) const {
  return functions_.contains(node.op) || node.op == "PartitionedCall" ||
         node.op == "StatefulPartitionedCall" || touches_state(node);
}

void References::find_behind_controls(const std::vector<ImportNode>& nodes) {
  std::map<std::string, std::vector<const ImportNode*>, std::less<>> readers;
  std::vector<const ImportNode*> waiting;
  for (const ImportNode& node : nodes) {
    check_deadline();
    if (keeps_order(node)) continue;
    for (const std::string& input : node.inputs)
      if (!is_control(input)) readers[node_of(input)].push_back(&node);
    if (std::ranges::any_of(node.inputs, is_control)) waiting.push_back(&node);
  }
  while (!waiting.empty()) {
    check_deadline();
    const ImportNode* node = waiting.back();
    waiting.pop_back();
    if (!behind_controls_.insert(node).second) continue;
    if (const auto found = readers.find(node->name); found != readers.end())
      waiting.insert(waiting.end(), found->second.begin(), found->second.end());
  }
}

/// Nodes that touch state and run before this one by control edges, of its own or of what it reads, which may
/// lead there by way of nodes that do not.
std::vector<std::string> References::controls_of(const ImportNode& node,
                                                 const std::set<std::string_view>& kept) const {
  std::vector<std::string> found;
  std::vector<std::pair<const ImportNode*, bool>> waiting; // and whether a control edge leads there
  const auto add = [&](const ImportNode& behind, bool controlled) {
    for (const std::string& input : behind.inputs) {
      const bool control = controlled || is_control(input);
      const auto before = nodes_.find(node_of(std::string_view(input).substr(is_control(input))));
      if (before != nodes_.end() && (control || behind_controls_.contains(before->second)))
        waiting.emplace_back(before->second, control);
    }
  };
  add(node, false);
  std::set<std::pair<const ImportNode*, bool>> seen;
  while (!waiting.empty()) {
    check_deadline();
    const auto [before, controlled] = waiting.back();
    waiting.pop_back();
    if (seen.contains({before, true}) || !seen.emplace(before, controlled).second) continue;
    if (controlled && kept.contains(before->name) && keeps_order(*before)) {
      count_bytes(sizeof(std::string) + before->name.size()); // a node between two others joins all pairs
      found.push_back(before->name);
    } else {
      add(*before, controlled);
    }
  }
  return found;
}

std::vector<std::string> References::resolve(std::vector<ImportNode>& nodes,
                                             std::vector<std::string> results) {
  for (const ImportNode& node : nodes) nodes_.emplace(node.name, &node);
  find_behind_controls(nodes);
  const std::set<std::string_view> kept = needed(nodes_, results);
  std::map<std::string, std::set<std::int64_t>, std::less<>> used;
  const auto use = [&](std::string& reference) {
    check_deadline();
    reference = resolved(reference);
    const std::size_t colon = reference.find(':');
    used[reference.substr(0, colon)].insert(
        colon == std::string::npos ? 0 : number_of(reference.substr(colon + 1), reference));
  };
  std::vector<ImportNode> made;
  for (ImportNode node : nodes) {
    check_deadline();
    if (!kept.contains(node.name)) continue;
    if (keeps_order(node)) node.controls = controls_of(node, kept);
    std::erase_if(node.inputs, is_control);
    for (std::string& input : node.inputs) use(input);
    made.push_back(std::move(node));
  }
  for (std::string& result : results) use(result);
  std::int64_t tensors = 0;
  for (ImportNode& node : made) {
    check_deadline();
    std::set<std::int64_t>& read = used[node.name];
    read.insert(0); // result 0 stands for a node without readers
    const std::int64_t count = *read.rbegin() + 1;
    check((tensors += count) <= max_tensors, ErrorCode::limit_exceeded, "the nodes have more than {} results",
          max_tensors);
    const bool all = node.name.size() <= longest_unread_name;
    count_bytes(static_cast<std::uint64_t>(count) * (sizeof(std::string) + (all ? node.name.size() : 0)) +
                read.size() * node.name.size());
    for (std::int64_t i = 0; i < count; ++i)
      node.outputs.push_back(all || read.contains(i) ? tensor_name(node.name, i) : std::string());
  }
  call_functions(made);
  nodes_.clear();
  behind_controls_.clear();
  unknown_.clear();
  nodes = std::move(made);
  return results;
}

} // namespace lanner::tensorflow
