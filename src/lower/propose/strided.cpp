#include "lower/propose/strided.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

#include "lower/propose/joins.h"
#include "ops/definition/axis.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"
#include "program/lowered/views.h"

namespace lanner {
namespace {

/// A value, and the axis along which another is a part of it.
struct Whole {
  const Value* value = nullptr;
  std::size_t axis = 0;
};

/// The result of the concatenation that a value is a part of.
Whole joined_in(const Value& value) {
  const Node* concat = joining_reader(value);
  if (!concat || concat->output()->type.rank() == 0) return {};
  const Value& whole = *concat->output();
  return {&whole, ops::resolve_axis(concat->attributes.integer("axis", 0), whole.type.rank())};
}

/// The input of the slice or split that gives a value.
Whole taken_from(const Value& value) {
  constexpr std::size_t most_parts = 256; // quadratic
  const Node* node = value.producer();
  if (!node || !ops::takes_parts(*node) || node->outputs().size() > most_parts) return {};
  const auto parts = parts_of(*node);
  if (!parts) return {};
  for (std::size_t i = 0; i < parts->size(); ++i)
    if (node->output(i) == &value) return {node->input(0), (*parts)[i].axis};
  return {};
}

/// All values that contain a value by steps of one kind along one axis, nearest first.
template<typename Step>
std::vector<Within> chain(const Value& value, const Step& step) {
  constexpr std::size_t most = 256; // A graph has no cycles; long chains are cut.
  std::vector<Within> found;
  Whole whole = step(value);
  const std::size_t axis = whole.axis;
  for (; whole.value && whole.axis == axis && found.size() < most; whole = step(*whole.value))
    found.push_back({static_cast<int>(axis), whole.value->type.shape()[axis]});
  return found;
}

void add_ends(std::vector<Within>& list, const std::vector<Within>& chain) {
  if (chain.empty()) return;
  for (const Within& end : {chain.front(), chain.back()})
    if (std::ranges::find(list, end) == list.end()) list.push_back(end);
}

/// The possible parents of one value of a tactic.
struct Choice {
  bool output = false;
  std::size_t index = 0;
  std::vector<Within> withins;
};

/// The values that may be parts of others and that the kernel accepts so.
std::vector<Choice> choices_of(const Proposal& proposal, const Tactic& tactic) {
  std::vector<Choice> choices;
  const auto add = [&](const std::vector<AxisSet>& strided, const std::vector<Storage>& storages,
                       const std::vector<Value*>& values, bool output) {
    for (std::size_t i = 0; i < std::min({strided.size(), storages.size(), values.size()}); ++i) {
      const Value* value = values[i];
      const Storage& storage = storages[i];
      if (strided[i].empty() || !value || value->constant() || !is_planned(*value) || storage.within)
        continue;
      if (!storage.layout.blocks.empty() || storage.quantization) continue;
      std::vector<Within> withins = possible_withins(*value);
      std::erase_if(withins, [&](const Within& within) { return !strided[i].contains(within.axis); });
      if (!withins.empty()) choices.push_back({output, i, std::move(withins)});
    }
  };
  add(tactic.strided_inputs, tactic.inputs, proposal.inputs, false);
  add(tactic.strided_outputs, tactic.outputs, proposal.outputs, true);
  return choices;
}

/// Each value's choices one at a time; for more than two values also `all` at once with their first choice.
/// All combinations would be too many.
std::vector<std::vector<Within>> combinations(const std::vector<Choice>& choices) {
  constexpr std::size_t most = 4;
  std::vector<std::vector<Within>> list{std::vector<Within>(choices.size())};
  if (choices.size() <= 2) {
    for (std::size_t c = 0; c < choices.size(); ++c)
      for (std::size_t known = list.size(), k = 0; k < known; ++k)
        for (const Within& within : choices[c].withins) {
          list.push_back(list[k]);
          list.back()[c] = within;
        }
  } else {
    std::vector<Within> all;
    for (const Choice& choice : choices) all.push_back(choice.withins.front());
    for (std::size_t c = 0; c < std::min(choices.size(), most); ++c)
      for (const Within& within : choices[c].withins) {
        list.push_back(list[0]);
        list.back()[c] = within;
      }
    list.push_back(std::move(all));
  }
  list.erase(list.begin()); // none
  return list;
}

/// A value, and the axis and size of the parent value that it is a part of.
using PartOf = std::tuple<const Value*, int, std::int64_t>;

std::vector<PartOf> strided_parts(const std::vector<Value*>& values, const std::vector<Storage>& storages) {
  std::vector<PartOf> list;
  for (std::size_t i = 0; i < std::min(values.size(), storages.size()); ++i)
    if (const Within& within = storages[i].within) list.emplace_back(values[i], within.axis, within.size);
  return list;
}

/// Parts of larger values in all alternatives of a graph.
class Uses {
public:
  explicit Uses(std::span<const Proposal> proposals) {
    for (const Proposal& proposal : proposals)
      for (const Alternative& one : proposal.list) {
        const auto inputs = strided_parts(proposal.inputs, one.tactic.inputs),
                   outputs = strided_parts(proposal.outputs, one.tactic.outputs);
        const bool moves = one.backend != nullptr;
        (moves || is_view(proposal) ? read_ : uses_).insert(inputs.begin(), inputs.end());
        (moves || is_join(proposal) ? written_ : uses_).insert(outputs.begin(), outputs.end());
      }
  }

  bool is_useful(const Proposal& proposal, const Alternative& one) const {
    const auto inputs = strided_parts(proposal.inputs, one.tactic.inputs),
               outputs = strided_parts(proposal.outputs, one.tactic.outputs);
    const auto in = [](const std::set<PartOf>& set) {
      return [&set](const PartOf& value) { return set.contains(value); };
    };
    if (!one.backend && is_join(proposal))
      return (inputs.empty() || std::ranges::any_of(inputs, in(written_))) &&
             std::ranges::all_of(outputs, in(uses_));
    if (!one.backend && is_view(proposal))
      return (outputs.empty() || std::ranges::any_of(outputs, in(read_))) &&
             std::ranges::all_of(inputs, in(uses_));
    return std::ranges::all_of(inputs, in(uses_)) && std::ranges::all_of(outputs, in(uses_));
  }

private:
  static bool is_join(const Proposal& proposal) { return ops::is_concat(*proposal.node); }
  static bool is_view(const Proposal& proposal) { return ops::takes_parts(*proposal.node); }
  std::set<PartOf> read_, written_;
  std::set<PartOf> uses_; ///< Of joins and views.
};

} // namespace

std::vector<Within> possible_withins(const Value& value) {
  std::vector<Within> list;
  if (!is_planned(value) || value.type.rank() == 0) return list;
  add_ends(list, chain(value, joined_in));
  add_ends(list, chain(value, taken_from));
  // The parent of a part may itself be produced in a concatenation.
  if (const Whole whole = taken_from(value); whole.value) {
    std::vector<Within> joined = chain(*whole.value, joined_in);
    std::erase_if(joined, [&](const Within& one) { return one.axis != static_cast<int>(whole.axis); });
    add_ends(list, joined);
  }
  return list;
}

void add_strided(const Proposal& proposal, std::vector<Alternative>& list) {
  constexpr double dearer = 1.0001; // Values are whole unless a part saves something.
  const std::size_t offered = list.size();
  for (std::size_t a = 0; a < offered; ++a) {
    if (!list[a].backend || list[a].tactic.required_in_place) continue;
    const std::vector<Choice> choices = choices_of(proposal, list[a].tactic);
    for (const std::vector<Within>& combination : combinations(choices)) {
      std::vector<Within> inputs(list[a].tactic.inputs.size()), outputs(list[a].tactic.outputs.size());
      for (std::size_t c = 0; c < choices.size(); ++c)
        (choices[c].output ? outputs : inputs)[choices[c].index] = combination[c];
      Alternative strided = list[a];
      strided.tactic = lying_as(std::move(strided.tactic), inputs, outputs);
      strided.tactic.estimate *= dearer;
      strided.cost.seconds *= dearer;
      list.push_back(std::move(strided));
    }
  }
}

void drop_useless_strided(std::span<Proposal> proposals) {
  for (bool dropped = true; dropped;) {
    dropped = false;
    const Uses uses(proposals);
    for (Proposal& proposal : proposals)
      dropped |= std::erase_if(proposal.list,
                               [&](const Alternative& one) { return !uses.is_useful(proposal, one); }) > 0;
  }
}

} // namespace lanner
