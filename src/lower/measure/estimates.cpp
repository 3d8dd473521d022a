#include "lower/measure/estimates.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

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

} // namespace lanner
