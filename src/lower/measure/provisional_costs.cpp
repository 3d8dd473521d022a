// Provisional costs of proposals that backends were not asked for yet.

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "lower/measure/estimates.h"
#include "lower/propose/alternatives.h"
#include "program/lowered/lowered.h"

namespace lanner {

/// Provisional costs from another proposal with the same anchor: one pass more or less over the operands
/// costs little compared with a convolution or a product.
static void set_provisional_costs(Proposal& proposal, const Proposal& like, const Estimates& estimates,
                                  const Target& target) {
  // A larger group is worth asking for where costs are equal; a smaller one where the larger is slower than
  // measurements of its kernel's kind suggest, or on a GPU, where libraries offer few epilogues, slower than
  // other products of as much work.
  constexpr double larger = 0.98, smaller = 1.001, slow = 1.5, slower = 1.2;
  const bool grows = proposal.members.size() > like.members.size();
  const double without_epilogue =
      target.device.is_host() ? std::numeric_limits<double>::infinity() : estimates.at_best_rate(like);
  for (const Alternative& one : like.list) {
    if (!one.backend || lies_within(one.tactic)) continue;
    Alternative made{one.backend, {}, {estimates.seconds(one)}};
    const double expected = estimates.expected(one);
    if (!grows && made.cost.seconds > slow * expected) made.cost.seconds = expected;
    if (!grows && made.cost.seconds > slower * without_epilogue) made.cost.seconds = without_epilogue;
    made.cost.seconds *= grows ? larger : smaller;
    made.tactic.kernel = one.tactic.kernel;
    const auto like_result = [&](const Value* value) {
      const bool whole =
          value && value->type.is_static() && value->type.dims() == proposal.outputs[0]->type.dims();
      return whole ? one.tactic.outputs.at(0) : target.storage();
    };
    for (const Value* value : proposal.inputs) {
      const auto same = std::ranges::find(like.inputs, value);
      made.tactic.inputs.push_back(
          same != like.inputs.end() ? one.tactic.inputs[static_cast<std::size_t>(same - like.inputs.begin())]
                                    : like_result(value));
    }
    for (const Value* value : proposal.outputs) made.tactic.outputs.push_back(like_result(value));
    proposal.list.push_back(std::move(made));
  }
}

void set_provisional_costs(std::span<Proposal> proposals, const Estimates& estimates,
                           const LowerOptions& options) {
  std::map<std::pair<const Node*, bool>, std::vector<const Proposal*>> asked;
  for (const Proposal& proposal : proposals)
    if (proposal.asked) asked[{proposal.members.front(), proposal.promoted}].push_back(&proposal);
  for (Proposal& proposal : proposals) {
    if (proposal.asked) continue;
    proposal.list.clear();
    for (const Proposal* like : asked[{proposal.members.front(), proposal.promoted}])
      set_provisional_costs(proposal, *like, estimates, target_of(proposal, options));
    if (proposal.list.empty()) ask_for(proposal, options);
  }
}

} // namespace lanner
