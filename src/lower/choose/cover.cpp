#include "lower/choose/cover.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "lower/propose/free_inputs.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// Penalty in seconds: the alternative is taken only where there is no other.
constexpr double avoided = 1.0;

class Cover {
public:
  Cover(std::span<const Proposal> proposals, const Estimates& estimates, const LowerOptions& options,
        ConversionCosts& conversion_costs)
      : proposals_(proposals), options_(options), conversion_costs_(conversion_costs), estimates_(estimates),
        standing_back_(standing_back(proposals, options)) {
    number_nodes();
    for (std::size_t p = 0; p < proposals.size(); ++p) add_choices(p);
    for (std::size_t n = 0; n < nodes_.size(); ++n) add_edges(n);
    for (const Proposal& proposal : proposals) hold_together(proposal);
    add_free_inputs();
  }

  std::vector<Taken> solve() const {
    AssignmentEffort effort{.cancel = options_.control.cancel};
    const std::vector<std::size_t> choice = assign(problem_, each_alone(), &effort);
    std::vector<Taken> taken;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Taken& one = choices_[n][choice[n]];
      if (proposals_[one.proposal].members.back() == nodes_[n]) taken.push_back(one);
    }
    return taken;
  }

private:
  /// The trivial cover, which always exists: every node on its own.
  std::vector<std::size_t> each_alone() const {
    std::vector<std::size_t> choice;
    for (const std::vector<Taken>& list : choices_)
      choice.push_back(static_cast<std::size_t>(
          std::ranges::find_if(list, [&](const Taken& one) { return proposals_[one.proposal].last_resort; }) -
          list.begin()));
    return choice;
  }
  /// Proposals to avoid: those that compete with reused tactics and, once the budget is spent, unmeasured
  /// ones outside the first cover.
  static std::vector<bool> standing_back(std::span<const Proposal> proposals, const LowerOptions& options) {
    std::set<const Node*> kept;
    for (const Proposal& proposal : proposals)
      if (proposal.reused_tactics) kept.insert(proposal.members.begin(), proposal.members.end());
    const bool spent = options.tuner.measures() && options.tuner.spent() >= options.tuner.budget();
    std::vector<bool> list;
    for (const Proposal& proposal : proposals) {
      const bool beside =
          !proposal.reused_tactics &&
          std::ranges::any_of(proposal.members, [&](const Node* node) { return kept.contains(node); });
      list.push_back(beside || (spent && !proposal.in_first_cover && !is_measured(proposal)));
    }
    return list;
  }

  static bool is_measured(const Proposal& proposal) {
    return std::ranges::any_of(proposal.list, [](const Alternative& one) { return one.cost.measured; });
  }

  /// In execution order.
  void number_nodes() {
    for (const Proposal& proposal : proposals_)
      if (proposal.last_resort) nodes_.push_back(proposal.members.front());
    if (nodes_.empty()) return;
    const std::map<const Node*, std::size_t> order = execution_order(nodes_.front()->region()->graph());
    std::ranges::sort(nodes_, {}, [&](const Node* node) { return order.at(node); });
    for (std::size_t n = 0; n < nodes_.size(); ++n) numbers_[nodes_[n]] = n;
    choices_.resize(nodes_.size());
    problem_.nodes.resize(nodes_.size());
  }

  /// Of alternatives with the same storages only the cheapest is kept, except that a value which is part of
  /// another may be copied later. The last member carries the cost.
  void add_choices(std::size_t p) {
    const Proposal& proposal = proposals_[p];
    std::map<std::vector<std::size_t>, std::size_t> best;
    std::vector<double> costs;
    storages_.emplace_back();
    const auto key = [&](std::size_t a) {
      std::vector<std::size_t> all = storages_.back()[a].all();
      all.push_back(is_alias(proposal.list[a]) ? 1 : 0);
      return all;
    };
    for (std::size_t a = 0; a < proposal.list.size(); ++a) {
      costs.push_back(cost_of(p, a));
      storages_.back().push_back(storages_of(proposal, proposal.list[a].tactic));
      const auto [entry, fresh] = best.emplace(key(a), a);
      if (!fresh && costs[a] < costs[entry->second]) entry->second = a;
    }
    for (std::size_t a = 0; a < proposal.list.size(); ++a) {
      if (best.at(key(a)) != a) continue;
      for (const Node* member : proposal.members) {
        const std::size_t n = numbers_.at(member);
        choices_[n].push_back({p, a});
        problem_.nodes[n].push_back(member == proposal.members.back() ? costs[a] : 0.0);
      }
    }
  }

  static bool is_alias(const Alternative& one) { return one.tactic.kernel == alias_backend; }

  /// Cost including conversions from the caller's inputs and to its outputs.
  double cost_of(std::size_t p, std::size_t a) {
    const Proposal& proposal = proposals_[p];
    const Alternative& alternative = proposal.list[a];
    const bool interpreted = !alternative.backend && alternative.tactic.kernel == interpreter_backend;
    double cost = proposal.asked ? estimates_.seconds(alternative) : alternative.cost.seconds;
    if (standing_back_[p] || interpreted) cost += avoided;
    for (std::size_t i = 0; i < proposal.inputs.size(); ++i)
      if (const Value* value = proposal.inputs[i]; value && !value->producer() && !is_free(*value))
        cost += conversion_costs_.from_caller(*value, proposal.input_storage(alternative.tactic, i));
    for (std::size_t o = 0; o < proposal.outputs.size(); ++o)
      if (is_result(*proposal.outputs[o]))
        cost +=
            conversion_costs_.to_caller(*proposal.outputs[o], proposal.output_storage(alternative.tactic, o));
    return cost;
  }

  bool is_free(const Value& value) const { return is_free_input(value, options_.callers); }

  /// A free input is a variable too: its choices are the storages that its readers ask for.
  void add_free_inputs() {
    std::vector<const Value*> inputs;
    for (const Node* node : nodes_)
      for (const Value* value : node->inputs())
        if (value && is_free(*value) && std::ranges::find(inputs, value) == inputs.end())
          inputs.push_back(value);
    for (const Value* input : inputs) add_free_input(*input);
  }

  void add_free_input(const Value& input) {
    std::vector<std::size_t> held;
    for (const Proposal& proposal : proposals_)
      for (std::size_t i = 0; i < proposal.inputs.size(); ++i)
        for (const Alternative& one : proposal.list) {
          if (proposal.inputs[i] != &input) break;
          const std::size_t number =
              number_of(held_for(input, proposal.input_storage(one.tactic, i), options_));
          if (std::ranges::find(held, number) == held.end()) held.push_back(number);
        }
    const std::size_t from = problem_.nodes.size();
    problem_.nodes.emplace_back(held.size(), 0.0);
    ConversionTable table;
    for (std::size_t to = 0; to < nodes_.size(); ++to) {
      if (std::ranges::find(nodes_[to]->inputs(), &input) == nodes_[to]->inputs().end()) continue;
      AssignmentProblem::Edge edge{from, to, {}};
      for (const std::size_t number : held)
        for (const Taken& taken : choices_[to])
          edge.costs.push_back(first_reader(proposals_[taken.proposal], input) == nodes_[to]
                                   ? moved(input, number, taken, table)
                                   : 0.0);
      problem_.edges.push_back(std::move(edge));
    }
  }

  /// Whether the value itself is an output of the graph; its views are values with their own costs.
  static bool is_result(const Value& value) {
    return std::ranges::any_of(value.uses(), [](const Use& use) { return use.node == nullptr; });
  }

  /// Storages of one alternative, by number.
  struct Storages {
    std::vector<std::size_t> inputs, outputs;
    std::vector<std::size_t> all() const {
      std::vector<std::size_t> list = inputs;
      list.insert(list.end(), outputs.begin(), outputs.end());
      return list;
    }
  };

  Storages storages_of(const Proposal& proposal, const Tactic& tactic) {
    Storages storages;
    for (std::size_t i = 0; i < tactic.inputs.size(); ++i) {
      const Value* value = proposal.inputs[i];
      // Constants are packed ahead, at no cost.
      storages.inputs.push_back(!value || value->constant() ? 0
                                                            : number_of(proposal.input_storage(tactic, i)));
    }
    for (std::size_t o = 0; o < tactic.outputs.size(); ++o)
      storages.outputs.push_back(number_of(proposal.output_storage(tactic, o)));
    return storages;
  }

  std::size_t number_of(const Storage& storage) {
    const auto [entry, fresh] = storage_numbers_.emplace(storage.to_string(), known_storages_.size());
    if (fresh) known_storages_.push_back(storage);
    return entry->second;
  }

  /// Adds an edge from the producer of each value that the node reads.
  void add_edges(std::size_t to) {
    options_.control.cancel.check();
    std::set<const Value*> seen;
    for (const Value* value : nodes_[to]->inputs()) {
      if (!value || value->constant() || !value->producer() || !seen.insert(value).second) continue;
      const auto from = numbers_.find(value->producer());
      if (from != numbers_.end()) add_edge(from->second, to, *value);
    }
  }

  void add_edge(std::size_t from, std::size_t to, const Value& value) {
    options_.control.cancel.check();
    AssignmentProblem::Edge edge{from, to, {}};
    ConversionTable table;
    edge.costs.reserve(choices_[from].size() * choices_[to].size());
    for (const Taken& a : choices_[from])
      for (const Taken& b : choices_[to]) edge.costs.push_back(edge_cost(value, *nodes_[to], a, b, table));
    problem_.edges.push_back(std::move(edge));
  }

  /// Members without a data dependence on the ones before (siblings that read one value) are tied by an extra
  /// edge.
  void hold_together(const Proposal& proposal) {
    for (std::size_t m = 1; m < proposal.members.size(); ++m) {
      const std::span earlier(proposal.members.data(), m);
      if (!is_tied(*proposal.members[m], earlier))
        tie(numbers_.at(proposal.members[0]), numbers_.at(proposal.members[m]));
    }
  }

  static bool is_tied(const Node& node, std::span<Node* const> members) {
    return std::ranges::any_of(node.inputs(), [&](const Value* value) {
      return value && value->producer() && std::ranges::find(members, value->producer()) != members.end();
    });
  }

  void tie(std::size_t one, std::size_t other) {
    if (!tied_.emplace(one, other).second) return;
    AssignmentProblem::Edge edge{one, other, {}};
    for (const Taken& a : choices_[one])
      for (const Taken& b : choices_[other]) {
        const bool both =
            holds(proposals_[a.proposal], *nodes_[other]) || holds(proposals_[b.proposal], *nodes_[one]);
        edge.costs.push_back(both && a != b ? infinite : 0.0);
      }
    problem_.edges.push_back(std::move(edge));
  }

  using ConversionTable = std::map<std::pair<std::size_t, std::size_t>, double>;

  double edge_cost(const Value& value, const Node& reader, const Taken& a, const Taken& b,
                   ConversionTable& table) {
    if (a.proposal == b.proposal) return a == b ? 0.0 : infinite;
    const Proposal &writes = proposals_[a.proposal], &reads = proposals_[b.proposal];
    if (holds(writes, reader) || holds(reads, *value.producer())) return infinite;
    const std::size_t o = output_of(writes, value);
    if (o == writes.outputs.size()) return infinite;
    if (first_reader(reads, value) != &reader) return 0;
    const std::size_t from = storages_[a.proposal][a.alternative].outputs[o];
    const double cost = moved(value, from, b, table);
    return cost == 0 && is_copied_part(value, reader, a, b) ? copied(value.type, from, table) : cost;
  }

  /// Whether a part of one value must also be a part of another: it can be in one of them only, so it is
  /// copied even where both store it the same way.
  bool is_copied_part(const Value& value, const Node& reader, const Taken& a, const Taken& b) const {
    const auto lies_within = [&](const Taken& taken) {
      return is_alias(proposals_[taken.proposal].list[taken.alternative]);
    };
    return ops::is_concat(reader) && ops::takes_parts(*value.producer()) && lies_within(a) && lies_within(b);
  }

  double copied(const Type& type, std::size_t storage, ConversionTable& table) {
    const auto [entry, fresh] = table.emplace(std::pair(storage, SIZE_MAX), 0.0);
    if (fresh) entry->second = conversion_costs_.copied(type, known_storages_[storage]);
    return entry->second;
  }

  /// Cost of converting a value from storage number `from` for all of a group's reads.
  double moved(const Value& value, std::size_t from, const Taken& reader, ConversionTable& table) {
    const Proposal& reads = proposals_[reader.proposal];
    const std::vector<std::size_t>& inputs = storages_[reader.proposal][reader.alternative].inputs;
    double cost = 0;
    const auto add = [&](std::size_t i) {
      if (reads.inputs[i] == &value) cost += converted(value.type, from, inputs[i], table);
    };
    const bool as_node = reads.members.size() == 1 && !reads.own &&
                         reads.inputs.size() == reads.members.front()->inputs().size();
    if (as_node && value.uses().size() < reads.inputs.size()) {
      for (const Use& use : value.uses())
        if (use.node == reads.members.front()) add(use.index);
    } else {
      for (std::size_t i = 0; i < reads.inputs.size(); ++i) add(i);
    }
    return cost;
  }

  /// Index of the value among the proposal's outputs; a node may have very many.
  static std::size_t output_of(const Proposal& proposal, const Value& value) {
    const std::vector<Value*>& outputs = proposal.outputs;
    if (value.index() < outputs.size() && outputs[value.index()] == &value) return value.index();
    return static_cast<std::size_t>(std::ranges::find(outputs, &value) - outputs.begin());
  }

  double converted(const Type& type, std::size_t from, std::size_t to, ConversionTable& table) {
    const auto [entry, fresh] = table.emplace(std::pair(from, to), 0.0);
    if (fresh) entry->second = conversion_costs_(type, known_storages_[from], known_storages_[to]);
    return entry->second;
  }

  static bool holds(const Proposal& proposal, const Node& node) {
    return std::ranges::find(proposal.members, &node) != proposal.members.end();
  }

  /// The reading member whose edge carries the cost of converting the value, which is converted once.
  static const Node* first_reader(const Proposal& proposal, const Value& value) {
    for (const Node* member : proposal.members)
      if (reads(*member, value)) return member;
    return nullptr;
  }

  /// Either list may be very long.
  static bool reads(const Node& node, const Value& value) {
    if (value.uses().size() < node.inputs().size())
      return std::ranges::count(value.uses(), &node, &Use::node) > 0;
    return std::ranges::find(node.inputs(), &value) != node.inputs().end();
  }

  std::span<const Proposal> proposals_;
  const LowerOptions& options_;
  ConversionCosts& conversion_costs_;
  const Estimates& estimates_;
  std::vector<bool> standing_back_;
  std::vector<const Node*> nodes_;
  std::map<const Node*, std::size_t> numbers_;
  std::vector<std::vector<Taken>> choices_;     ///< By node.
  std::vector<std::vector<Storages>> storages_; ///< By proposal and alternative.
  std::map<std::string, std::size_t> storage_numbers_;
  std::vector<Storage> known_storages_;
  std::set<std::pair<std::size_t, std::size_t>> tied_;
  AssignmentProblem problem_;
};

} // namespace

std::vector<Taken> cheapest_cover(std::span<const Proposal> proposals, const Estimates& estimates,
                                  const LowerOptions& options, ConversionCosts& conversion_costs) {
  return Cover(proposals, estimates, options, conversion_costs).solve();
}

} // namespace lanner
