#include "lower/measure/estimates.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "graph/op.h"
#include "program/lowered/work.h"

namespace lanner {
namespace {

std::string name_of(const Alternative& alternative) {
  return fmt::format("{} {}", alternative.backend->name(), alternative.tactic.kernel);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace

Estimates::Estimates(std::span<const Proposal> proposals) {
  for (const Proposal& proposal : proposals) learn_rate(proposal);
  std::map<std::string, std::vector<double>> ratios;
  std::vector<double> all;
  for (const Proposal& proposal : proposals)
    for (const Alternative& one : proposal.list)
      if (one.backend && one.cost.measured && one.tactic.estimate > 0) {
        ratios[name_of(one)].push_back(one.cost.seconds / one.tactic.estimate);
        all.push_back(one.cost.seconds / one.tactic.estimate);
      }
  for (auto& [name, list] : ratios) corrections_[name] = median(list);
  if (!all.empty()) correction_ = median(all);
}

double Estimates::seconds(const Alternative& alternative) const {
  if (!alternative.backend || alternative.cost.measured) return alternative.cost.seconds;
  return expected(alternative);
}

double Estimates::expected(const Alternative& alternative) const {
  const auto known = corrections_.find(name_of(alternative));
  return alternative.tactic.estimate * (known == corrections_.end() ? correction_ : known->second);
}

void Estimates::learn_rate(const Proposal& proposal) {
  if (proposal.members.front()->op().traits.pattern != Pattern::contraction) return;
  double best = std::numeric_limits<double>::infinity();
  for (const Alternative& one : proposal.list)
    if (one.backend && one.cost.measured) best = std::min(best, one.cost.seconds);
  const auto flops = static_cast<double>(flops_of(*proposal.node));
  if (best > 0 && flops > 0 && best < std::numeric_limits<double>::infinity())
    rates_.emplace(flops, flops / best);
}

double Estimates::at_best_rate(const Proposal& proposal) const {
  constexpr double similar = 1.5; // ratio of work
  const auto flops = static_cast<double>(flops_of(*proposal.node));
  double best = 0;
  for (auto rate = rates_.lower_bound(flops / similar);
       rate != rates_.end() && rate->first <= flops * similar; ++rate)
    best = std::max(best, rate->second);
  return best > 0 ? flops / best : std::numeric_limits<double>::infinity();
}

} // namespace lanner
