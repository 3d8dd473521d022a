// Conditionals: Switches send values to one of two branches by a predicate, Merges take the result of the one
// that ran. A node is in the branches that its inputs are in, by edges of data or of control.

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
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

/// Sets of branches of predicates, by number: many nodes have the same.
class States {
public:
  using Id = std::size_t;
  static constexpr Id outside = 0; ///< In no branch.
  static constexpr std::size_t most_branches = 1u << 16;

  States() { id_of({}); }

  std::size_t size(Id state) const { return lists_[state]->size(); }
  /// Entries made by entry(), ascending: the number of a predicate and its branch.
  const std::vector<std::size_t>& entries(Id state) const { return *lists_[state]; }
  bool contains(Id state, std::size_t predicate) const {
    return std::ranges::any_of(*lists_[state],
                               [&](std::size_t entry) { return predicate_of(entry) == predicate; });
  }
  static std::size_t entry(std::size_t predicate, std::size_t branch) {
    return predicate * most_branches + branch;
  }
  static std::size_t predicate_of(std::size_t entry) { return entry / most_branches; }
  static std::size_t branch_of(std::size_t entry) { return entry % most_branches; }
  Id id_of(std::vector<std::size_t> entries) {
    const auto known = ids_.find(entries);
    if (known != ids_.end()) return known->second;
    constexpr std::uint64_t node = 96;
    count_bytes(node + entries.size() * sizeof(std::size_t));
    const auto added = ids_.emplace(std::move(entries), lists_.size()).first;
    lists_.push_back(&added->first);
    return added->second;
  }
  Id with(Id state, std::size_t predicate, std::size_t branch) {
    std::vector<std::size_t> entries = *lists_[state];
    std::erase_if(entries, [&](std::size_t each) { return predicate_of(each) == predicate; });
    entries.insert(std::ranges::upper_bound(entries, entry(predicate, branch)), entry(predicate, branch));
    return id_of(std::move(entries));
  }
  /// Of both; nothing where they need different branches of one predicate.
  std::optional<Id> both(Id a, Id b) {
    if (a == b || b == outside) return a;
    if (a == outside) return b;
    std::vector<std::size_t> entries;
    std::ranges::set_union(*lists_[a], *lists_[b], std::back_inserter(entries));
    for (std::size_t i = 1; i < entries.size(); ++i)
      if (predicate_of(entries[i]) == predicate_of(entries[i - 1])) return std::nullopt;
    return id_of(std::move(entries));
  }

private:
  std::map<std::vector<std::size_t>, Id> ids_;
  std::vector<const std::vector<std::size_t>*> lists_;
};

/// A Merge whose branches are known.
struct Join {
  std::string merge;
  std::size_t predicate = 0;
  std::vector<std::string> results;    ///< Of each branch, as written; of two, the first is for false.
  States::Id around = States::outside; ///< Of the conditional as a whole.
};

std::string scope_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

/// How many branches a Switch leads to.
std::int64_t switch_branches(const ImportNode& gate) {
  if (gate.op != "_SwitchN") return 2;
  const auto found = gate.attributes.find("num_outs");
  const auto* count =
      found == gate.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second.value);
  constexpr std::int64_t most = 1024;
  check(count && *count > 0 && *count <= most, ErrorCode::unsupported,
        "node {}: num_outs is not from 1 to {}", one_line(gate.name, longest_shown), most);
  return *count;
}

class Conditionals {
public:
  Conditionals(std::vector<ImportNode> nodes, const FunctionOutputs& functions)
      : graph_(std::move(nodes), functions) {}

  std::vector<ImportNode> run() {
    for (const std::string& name : dependence_order()) visit(*graph_.find(name));
    // Inner conditionals first: then they are single nodes of the outer ones.
    std::map<std::tuple<std::size_t, std::size_t, States::Id, std::string>, Group> groups;
    for (Join& join : joins_) {
      Group& group = groups[{~table_.size(join.around), join.predicate, join.around, scope_of(join.merge)}];
      group.push_back(std::move(join));
    }
    for (const auto& [key, group] : groups)
      for (const Group& part : independent_parts(group)) make_choice(part);
    return kept();
  }

private:
  using Group = std::vector<Join>; ///< Results of one conditional.

  /// One part, unless a result of the group depends on another one: then those of each number of Merges
  /// before them.
  std::vector<Group> independent_parts(const Group& group) {
    if (group.size() == 1 || is_independent(group)) return {group};
    std::map<std::size_t, Group> by_round;
    for (const Join& join : group) by_round[rounds_[join.merge]].push_back(join);
    std::vector<Group> parts;
    for (auto& [round, part] : by_round) parts.push_back(std::move(part));
    return parts;
  }

  /// Conditionals that are nodes already count as a whole, so that no two depend on each other.
  bool is_independent(const Group& group) {
    std::set<std::string, std::less<>> members, seen;
    std::vector<std::string> waiting;
    for (const Join& join : group) {
      members.insert(join.merge);
      waiting.insert(waiting.end(), join.results.begin(), join.results.end());
    }
    while (!waiting.empty()) {
      const DataflowInput input = parsed_input(waiting.back());
      waiting.pop_back();
      const ImportNode* node = graph_.find(input.node);
      if (input.control || !node || !seen.insert(input.node).second) continue;
      constexpr std::size_t most = 32; // for each node, in all groups
      if (members.contains(input.node) || ++walked_ > most * graph_.order().size()) return false;
      check_deadline();
      waiting.insert(waiting.end(), node->inputs.begin(), node->inputs.end());
    }
    return true;
  }

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

  /// The predicate of a Switch, by number: the value behind copies.
  std::size_t predicate(const ImportNode& gate) {
    check(gate.inputs.size() >= 2, ErrorCode::unsupported, "node {} has no predicate",
          one_line(gate.name, longest_shown));
    const auto [known, added] = numbers_.try_emplace(source(gate.inputs[1]), predicates_.size());
    const std::int64_t count = switch_branches(gate);
    if (gate.op == "_SwitchN") choices_.insert(known->second);
    if (added) {
      predicates_.push_back(known->first);
      branches_.push_back(count);
    }
    check(branches_[known->second] == count, ErrorCode::unsupported,
          "'{}' chooses one of {} branches and of {}", one_line(known->first, longest_shown),
          branches_[known->second], count);
    return known->second;
  }

  std::string source(const std::string& reference) {
    std::vector<std::string> passed;
    std::string name = reference;
    for (;;) {
      const DataflowInput input = parsed_input(name);
      if (const auto known = sources_.find(input.node); known != sources_.end() && input.result == 0) {
        name = known->second;
        break;
      }
      const ImportNode* node = graph_.find(input.node);
      name = tensor_name(input.node, input.result);
      if (!node || node->op != "Identity" || node->inputs.empty()) break;
      passed.push_back(input.node);
      name = node->inputs[0];
    }
    for (std::string& copy : passed) sources_.emplace(std::move(copy), name);
    return name;
  }

  States::Id state_of(const std::string& reference) {
    const DataflowInput input = parsed_input(reference);
    const auto found = states_.find(input.node);
    if (found == states_.end()) return States::outside;
    const ImportNode& node = *graph_.find(input.node);
    if (input.control || dataflow_op(node) != DataflowOp::switch_op) return found->second;
    check(input.result < branches_[predicate(node)], ErrorCode::unsupported, "node {} has {} branches",
          one_line(node.name, longest_shown), branches_[predicate(node)]);
    return table_.with(found->second, predicate(node), static_cast<std::size_t>(input.result));
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
    States::Id state = States::outside;
    for (const std::string& reference : node.inputs) {
      const auto both = table_.both(state, state_of(reference));
      check(both.has_value(), ErrorCode::unsupported, "node {} needs both branches of a conditional",
            one_line(node.name, longest_shown));
      state = *both;
    }
    constexpr std::size_t most = 64;
    check(table_.size(state) <= most, ErrorCode::unsupported, "conditionals are nested more than {} deep",
          most);
    states_[node.name] = state;
  }

  /// The state after a Merge: that of both inputs without the predicate in which they differ.
  States::Id joined(const ImportNode& merge) {
    std::vector<std::string> inputs;
    for (const std::string& reference : merge.inputs)
      if (!parsed_input(reference).control) inputs.push_back(reference);
    Join join;
    join.merge = merge.name;
    join.predicate = predicate_between(merge, inputs);
    const auto count = static_cast<std::size_t>(branches_[join.predicate]);
    check(inputs.size() == count, ErrorCode::unsupported, "node {} merges {} values, expected {}",
          one_line(merge.name, longest_shown), inputs.size(), count);
    join.results.resize(count);
    std::vector<std::string> left;
    std::optional<std::vector<std::size_t>> around;
    for (const std::string& reference : inputs) {
      std::vector<std::size_t> others;
      const bool known = place_of(reference, join, others);
      if (!known) left.push_back(reference);
      if (known && !around) around = others;
      check(!known || around == others, ErrorCode::unsupported, apart, one_line(merge.name, longest_shown));
    }
    // A constant whose control edges were removed is in the branch that is left.
    const auto free = std::ranges::find(join.results, std::string());
    check(around && left.size() <= 1 && (left.size() == 1) == (free != join.results.end()),
          ErrorCode::unsupported, apart, one_line(merge.name, longest_shown));
    if (left.size() == 1) {
      *free = left[0];
      const auto& outer = table_.entries(state_of(left[0]));
      check(std::ranges::includes(*around, outer), ErrorCode::unsupported, apart,
            one_line(merge.name, longest_shown));
    }
    join.around = table_.id_of(std::move(*around));
    joins_.push_back(std::move(join));
    return joins_.back().around;
  }

  static constexpr fmt::format_string<std::string> apart =
      "node {} merges values that are not those of the branches of one conditional";

  /// The predicate in whose branches a Merge's inputs differ: the only one that is not common to them.
  std::size_t predicate_between(const ImportNode& merge, const std::vector<std::string>& inputs) {
    std::map<std::size_t, std::size_t> counts;
    for (const std::string& reference : inputs)
      for (const std::size_t entry : table_.entries(state_of(reference))) ++counts[entry];
    std::set<std::size_t> predicates;
    for (const auto& [entry, count] : counts)
      if (count < inputs.size()) predicates.insert(States::predicate_of(entry));
    check(predicates.size() == 1, ErrorCode::unsupported, apart, one_line(merge.name, longest_shown));
    return *predicates.begin();
  }

  /// Puts a Merge's input in the place of its branch; `others` are the other entries of its state. False for
  /// an input that is in none.
  bool place_of(const std::string& reference, Join& join, std::vector<std::size_t>& others) {
    bool found = false;
    for (const std::size_t entry : table_.entries(state_of(reference))) {
      if (States::predicate_of(entry) != join.predicate) {
        others.push_back(entry);
        continue;
      }
      std::string& place = join.results[States::branch_of(entry)];
      check(place.empty(), ErrorCode::unsupported, apart, one_line(join.merge, longest_shown));
      place = reference;
      found = true;
    }
    return found;
  }

  /// A node If or, for a choice by number, Case.
  void make_choice(const Group& group) {
    const std::size_t decision = group[0].predicate;
    const bool by_number = choices_.contains(decision);
    ImportNode node;
    node.name = graph_.unique_name(group[0].merge + (by_number ? "/case" : "/if"));
    node.op = by_number ? "Case" : "If";
    node.inputs = {predicates_[decision]};
    std::set<std::string> outer;
    for (std::size_t branch = 0; branch < group[0].results.size(); ++branch) {
      const std::string name = by_number ? fmt::format("branch_{}", branch)
                               : branch  ? "then_branch"
                                         : "else_branch";
      std::vector<std::string> results;
      for (const Join& join : group) results.push_back(join.results[branch]);
      const auto graph = branch_graph(decision, name, std::move(results));
      outer.merge(outer_names(*graph));
      node.attributes[name] = {graph, {}};
    }
    node.inputs.insert(node.inputs.end(), outer.begin(), outer.end());
    node.attributes["Tout"] = {std::vector<std::int64_t>(group.size()), {}};
    states_[node.name] = group[0].around;
    for (std::size_t i = 0; i < group.size(); ++i)
      graph_.add(passing(group[i].merge, {tensor_name(node.name, static_cast<std::int64_t>(i))}));
    graph_.add(std::move(node));
  }

  std::shared_ptr<ImportGraph> branch_graph(std::size_t decision, const std::string& name,
                                            std::vector<std::string> results) {
    std::vector<ImportNode> nodes;
    std::set<std::string> seen;
    std::vector<std::string> waiting;
    const auto read = [&](const std::string& reference) {
      const DataflowInput input = parsed_input(reference);
      const bool inside =
          table_.contains(state_of(reference), decision) || is_small_constant(graph_.find(input.node));
      if (input.control || !inside) return;
      if (seen.insert(input.node).second) waiting.push_back(input.node);
    };
    for (const std::string& result : results) read(result);
    while (!waiting.empty()) {
      graph_.count_copy();
      ImportNode node = *graph_.find(waiting.back());
      waiting.pop_back();
      const bool is_gate = dataflow_op(node) == DataflowOp::switch_op;
      if (is_gate && !table_.contains(states_[node.name], decision)) {
        const auto count = static_cast<std::size_t>(branches_[decision]);
        nodes.push_back(passing(node.name, std::vector<std::string>(count, node.inputs[0])));
        continue;
      }
      check(dataflow_op(node) == DataflowOp::none, ErrorCode::unsupported,
            "node {} ({}) is in a branch, outside of a conditional", one_line(node.name, longest_shown),
            one_line(node.op, longest_shown));
      for (const std::string& reference : node.inputs) read(reference);
      nodes.push_back(std::move(node));
    }
    return inner_graph(name, {}, std::move(nodes), std::move(results), graph_.functions());
  }

  /// The nodes outside of all branches.
  std::vector<ImportNode> kept() {
    std::vector<ImportNode> nodes;
    for (const std::string& name : graph_.order()) {
      ImportNode& node = *graph_.find(name);
      if (states_[name] != States::outside || dataflow_op(node) == DataflowOp::switch_op) continue;
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  DataflowGraph graph_;
  States table_;
  std::map<std::string, States::Id, std::less<>> states_;
  std::vector<std::string> predicates_;
  std::set<std::size_t> choices_;                           ///< Predicates that are numbers.
  std::vector<std::int64_t> branches_;                      ///< Of each predicate.
  std::map<std::string, std::size_t, std::less<>> numbers_; ///< Of predicates.
  std::map<std::string, std::string, std::less<>> sources_; ///< Of copies.
  std::map<std::string, std::size_t, std::less<>> rounds_;  ///< Merges on the longest way to each node.
  std::size_t walked_ = 0;                                  ///< Nodes that is_independent() has seen.
  std::vector<Join> joins_;
};

} // namespace

std::vector<ImportNode> without_conditionals(std::vector<ImportNode> nodes,
                                             const FunctionOutputs& functions) {
  return Conditionals(std::move(nodes), functions).run();
}

} // namespace lanner::tensorflow
