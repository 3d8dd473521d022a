// Conditionals: Switches send values to one of two branches by a predicate, Merges take the result of the one
// that ran. A node is in the branches that its inputs are in, by edges of data or of control.

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/dataflow_graph.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;

/// A Merge whose branches are known.
struct Join {
  std::string merge, predicate;
  std::string results[2]; ///< Of the branches for false and true, as written.
  DataflowState around;   ///< Of the conditional as a whole.
};

std::string scope_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

class Conditionals {
public:
  Conditionals(std::vector<ImportNode> nodes, const FunctionOutputs& functions)
      : graph_(std::move(nodes), functions) {}

  std::vector<ImportNode> run() {
    for (const std::string& name : dependence_order()) visit(*graph_.find(name));
    // Inner conditionals first: then they are single nodes of the outer ones.
    std::ranges::stable_sort(joins_, std::greater<>(), [](const Join& join) { return join.around.size(); });
    std::map<std::tuple<std::size_t, std::string, DataflowState, std::string, std::size_t>, std::vector<Join>>
        groups;
    for (Join& join : joins_)
      groups[{~join.around.size(), join.predicate, join.around, scope_of(join.merge), rounds_[join.merge]}]
          .push_back(std::move(join));
    for (const auto& [key, group] : groups) make_if(group);
    return kept();
  }

private:
  std::vector<std::string> dependence_order() {
    std::map<std::string, std::size_t, std::less<>> missing;
    std::map<std::string, std::vector<std::string>, std::less<>> readers;
    std::vector<std::string> ready, order;
    for (const std::string& name : graph_.order()) {
      std::size_t& count = missing[name];
      for (const std::string& reference : graph_.find(name)->inputs) {
        const std::string from = parsed_input(reference).node;
        if (!graph_.find(from)) continue;
        readers[from].push_back(name);
        ++count;
      }
      if (count == 0) ready.push_back(name);
    }
    while (!ready.empty()) {
      check_deadline();
      order.push_back(std::move(ready.back()));
      ready.pop_back();
      for (const std::string& reader : readers[order.back()])
        if (--missing[reader] == 0) ready.push_back(reader);
    }
    check(order.size() == graph_.order().size(), ErrorCode::unsupported,
          "the graph has a cycle that is not a loop of Enter, Merge, Switch and NextIteration");
    return order;
  }

  /// The predicate of a Switch: the value behind copies.
  const std::string& predicate(const ImportNode& gate) {
    const auto [known, added] = predicates_.try_emplace(gate.name);
    if (added) known->second = find_predicate(gate);
    return known->second;
  }

  std::string find_predicate(const ImportNode& gate) {
    check(gate.inputs.size() >= 2, ErrorCode::unsupported, "node {} has no predicate",
          one_line(gate.name, longest_shown));
    std::string reference = gate.inputs[1];
    for (std::size_t steps = 0; steps < graph_.order().size(); ++steps) {
      const DataflowInput input = parsed_input(reference);
      const ImportNode* node = graph_.find(input.node);
      if (!node || node->op != "Identity" || node->inputs.empty())
        return tensor_name(input.node, input.result);
      reference = node->inputs[0];
    }
    return reference;
  }

  DataflowState state_of(const std::string& reference) {
    const DataflowInput input = parsed_input(reference);
    const auto found = states_.find(input.node);
    if (found == states_.end()) return {};
    DataflowState state = found->second;
    const ImportNode& node = *graph_.find(input.node);
    if (dataflow_op(node) == DataflowOp::switch_op && !input.control)
      state[predicate(node)] = input.result == 1;
    return state;
  }

  void visit(const ImportNode& node) {
    check_deadline();
    std::size_t& round = rounds_[node.name];
    for (const std::string& reference : node.inputs) {
      const DataflowInput input = parsed_input(reference);
      const ImportNode* from = graph_.find(input.node);
      if (!from) continue;
      round = std::max(round, rounds_[input.node]);
      check(input.result == 0 || dataflow_op(*from) != DataflowOp::merge, ErrorCode::unsupported,
            "node {} reads which branch the Merge {} took", one_line(node.name, longest_shown),
            one_line(from->name, longest_shown));
    }
    if (dataflow_op(node) == DataflowOp::merge) {
      ++round;
      states_[node.name] = joined(node);
      return;
    }
    DataflowState state;
    for (const std::string& reference : node.inputs)
      for (const auto& [predicate, branch] : state_of(reference)) {
        const auto [known, added] = state.emplace(predicate, branch);
        check(added || known->second == branch, ErrorCode::unsupported,
              "node {} needs both branches of a conditional", one_line(node.name, longest_shown));
      }
    constexpr std::size_t most = 64;
    check(state.size() <= most, ErrorCode::unsupported, "conditionals are nested more than {} deep", most);
    states_[node.name] = std::move(state);
  }

  /// The state after a Merge: that of both inputs without the predicate in which they differ.
  DataflowState joined(const ImportNode& merge) {
    std::vector<std::string> inputs;
    for (const std::string& reference : merge.inputs)
      if (!parsed_input(reference).control) inputs.push_back(reference);
    check(inputs.size() == 2, ErrorCode::unsupported, "node {} merges {} values, expected 2",
          one_line(merge.name, longest_shown), inputs.size());
    const DataflowState first = state_of(inputs[0]), second = state_of(inputs[1]);
    Join join;
    join.merge = merge.name;
    std::vector<std::pair<std::string, bool>> decided; // by the branch of the first input
    for (const auto& [predicate, branch] : first) {
      const auto other = second.find(predicate);
      if (other != second.end() && other->second == branch)
        join.around.emplace(predicate, branch);
      else
        decided.emplace_back(predicate, branch);
    }
    // A constant whose control edges were removed is in the branch that is left.
    for (const auto& [predicate, branch] : second)
      if (!first.contains(predicate)) decided.emplace_back(predicate, !branch);
    check(decided.size() == 1, ErrorCode::unsupported,
          "node {} merges values that are not those of the two branches of one conditional",
          one_line(merge.name, longest_shown));
    join.predicate = decided[0].first;
    join.results[decided[0].second ? 1 : 0] = inputs[0];
    join.results[decided[0].second ? 0 : 1] = inputs[1];
    DataflowState around = join.around;
    joins_.push_back(std::move(join));
    return around;
  }

  void make_if(const std::vector<Join>& group) {
    const std::string& decision = group[0].predicate;
    ImportNode node;
    node.name = graph_.unique_name(group[0].merge + "/if");
    node.op = "If";
    node.inputs = {decision};
    std::set<std::string> outer;
    for (const bool branch : {true, false}) {
      std::vector<std::string> results;
      for (const Join& join : group) results.push_back(join.results[branch ? 1 : 0]);
      const auto graph = branch_graph(decision, branch, std::move(results));
      outer.merge(outer_names(*graph));
      node.attributes[branch ? "then_branch" : "else_branch"] = {graph, {}};
    }
    node.inputs.insert(node.inputs.end(), outer.begin(), outer.end());
    node.attributes["Tout"] = {std::vector<std::int64_t>(group.size()), {}};
    states_[node.name] = group[0].around;
    for (std::size_t i = 0; i < group.size(); ++i)
      graph_.add(passing(group[i].merge, {tensor_name(node.name, static_cast<std::int64_t>(i))}));
    graph_.add(std::move(node));
  }

  std::shared_ptr<ImportGraph> branch_graph(const std::string& decision, bool branch,
                                            std::vector<std::string> results) {
    std::vector<ImportNode> nodes;
    std::set<std::string> seen;
    std::vector<std::string> waiting;
    const auto read = [&](const std::string& reference) {
      const DataflowInput input = parsed_input(reference);
      if (input.control || !state_of(reference).contains(decision)) return;
      if (seen.insert(input.node).second) waiting.push_back(input.node);
    };
    for (const std::string& result : results) read(result);
    while (!waiting.empty()) {
      graph_.count_copy();
      ImportNode node = *graph_.find(waiting.back());
      waiting.pop_back();
      const bool is_gate = dataflow_op(node) == DataflowOp::switch_op;
      if (is_gate && !states_[node.name].contains(decision)) {
        nodes.push_back(passing(node.name, {node.inputs[0], node.inputs[0]}));
        continue;
      }
      check(dataflow_op(node) == DataflowOp::none, ErrorCode::unsupported,
            "node {} ({}) is in a branch, outside of a conditional", one_line(node.name, longest_shown),
            one_line(node.op, longest_shown));
      for (const std::string& reference : node.inputs) read(reference);
      nodes.push_back(std::move(node));
    }
    return inner_graph(branch ? "then_branch" : "else_branch", {}, std::move(nodes), std::move(results),
                       graph_.functions());
  }

  /// The nodes outside of all branches.
  std::vector<ImportNode> kept() {
    std::vector<ImportNode> nodes;
    for (const std::string& name : graph_.order()) {
      ImportNode& node = *graph_.find(name);
      if (!states_[name].empty() || dataflow_op(node) == DataflowOp::switch_op) continue;
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  DataflowGraph graph_;
  std::map<std::string, DataflowState, std::less<>> states_;
  std::map<std::string, std::size_t, std::less<>> rounds_;     ///< Merges on the longest way to each node.
  std::map<std::string, std::string, std::less<>> predicates_; ///< Of Switches.
  std::vector<Join> joins_;
};

} // namespace

std::vector<ImportNode> without_conditionals(std::vector<ImportNode> nodes,
                                             const FunctionOutputs& functions) {
  return Conditionals(std::move(nodes), functions).run();
}

} // namespace lanner::tensorflow
