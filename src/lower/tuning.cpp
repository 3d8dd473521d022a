#include "lower/tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lower/tuner.h"

namespace lanner {
namespace {

class Tuning {
public:
  Tuning(std::span<Proposal> entries, const LowerOptions& options, const SearchMore& search)
      : entries_(entries), options_(options), search_(search) {}

  /// What is offered at once comes first for all nodes, since a node of which nothing is measured is chosen
  /// by guesses. What is left of the budget goes into finding more.
  void run() {
    std::vector<Proposal*> entries = slowest_first();
    double weights = 0;
    for (const Proposal* entry : entries) weights += weight(*entry);
    std::size_t done = 0;
    for (Proposal* entry : entries) {
      options_.control.report(
          {"tune", static_cast<double>(done++), static_cast<double>(entries.size()), "kernels"});
      options_.control.cancel.check();
      time(*entry, 0, share(weight(*entry), weights));
      weights -= weight(*entry);
    }
    for (Proposal* entry : slowest_first()) {
      const std::size_t timed = entry->list.size();
      search_(*entry);
      time(*entry, timed, options_.tuner.budget());
      drop_guesses(*entry);
    }
    settle();
  }

private:
  /// Times those again that are close to the best of their node, round by round over all nodes: what else ran
  /// on the machine when one had its turn has moved on by its next.
  void settle() {
    constexpr int rounds = 3;
    constexpr double close = 1.3, at_least = 0.2;
    Tuner& tuner = options_.tuner;
    const double until = tuner.spent() + std::max(at_least, tuner.spent() / 2);
    for (int round = 1; round <= rounds && tuner.measures(); ++round)
      for (Proposal* entry : slowest_first()) {
        std::vector<Alternative*> best = near_best(*entry, close);
        if (best.size() < 2) continue;
        for (Alternative* one : best)
          one->cost = tuner.again(*entry->node, *one->backend, one->tactic, round, until);
      }
  }

  static std::vector<Alternative*> near_best(Proposal& entry, double factor) {
    double least = std::numeric_limits<double>::infinity();
    for (const Alternative& one : entry.list)
      if (one.cost.measured) least = std::min(least, one.cost.seconds);
    std::vector<Alternative*> list;
    for (Alternative& one : entry.list)
      if (one.backend && one.cost.measured && one.cost.seconds <= factor * least) list.push_back(&one);
    return list;
  }

  /// What a node is expected to take: the least that is known or guessed of it.
  static double weight(const Proposal& entry) {
    double least = std::numeric_limits<double>::infinity();
    for (const Alternative& alternative : entry.list)
      if (alternative.backend) least = std::min(least, alternative.cost.seconds);
    return std::isfinite(least) ? least : 0;
  }

  /// Seconds spent at which a node must leave the rest of the budget to the nodes behind it. It may take more
  /// than its part, since equal nodes are timed once.
  double share(double weight, double weights) const {
    constexpr double generous = 4;
    const Tuner& tuner = options_.tuner;
    const double part = weights > 0 ? std::min(1.0, generous * weight / weights) : 1;
    return tuner.spent() + part * std::max(0.0, tuner.budget() - tuner.spent());
  }

  /// A budget that ends early has then gone to the nodes that matter most.
  std::vector<Proposal*> slowest_first() {
    std::vector<std::pair<double, Proposal*>> order;
    for (Proposal& entry : entries_) order.emplace_back(weight(entry), &entry);
    std::ranges::stable_sort(order, std::ranges::greater{}, &std::pair<double, Proposal*>::first);
    std::vector<Proposal*> entries;
    for (const auto& [seconds, entry] : order) entries.push_back(entry);
    return entries;
  }

  /// Times the alternatives of a node from number `first` on, what is guessed to be fast before the rest, and
  /// leaves out those that are wrong.
  void time(Proposal& entry, std::size_t first, double until) {
    std::stable_sort(
        entry.list.begin() + static_cast<std::ptrdiff_t>(first), entry.list.end(),
        [](const Alternative& a, const Alternative& b) { return a.tactic.estimate < b.tactic.estimate; });
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < entry.list.size();) {
      Alternative& alternative = entry.list[i];
      if (alternative.backend && i >= first)
        alternative.cost =
            options_.tuner.cost(*entry.node, *alternative.backend, alternative.tactic, best, until);
      if (!alternative.cost.wrong.empty()) {
        reject(entry, i, alternative.cost.wrong, options_);
        continue;
      }
      if (alternative.backend && alternative.cost.measured) best = std::min(best, alternative.cost.seconds);
      ++i;
    }
  }

  /// An estimate is no rival to a measurement: where some were measured, the rest are left out. An alias has
  /// nothing to measure.
  static void drop_guesses(Proposal& entry) {
    const auto measured = [](const Alternative& alternative) { return alternative.cost.measured; };
    if (std::ranges::any_of(entry.list, measured))
      std::erase_if(entry.list, [&](const Alternative& alternative) {
        return alternative.backend && !measured(alternative);
      });
  }

  std::span<Proposal> entries_;
  const LowerOptions& options_;
  const SearchMore& search_;
};

} // namespace

void time_alternatives(std::span<Proposal> entries, const LowerOptions& options, const SearchMore& search) {
  Tuning(entries, options, search).run();
}

} // namespace lanner
