#include "lower/measure/tuning.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "lower/measure/tuner.h"
#include "program/lowered/signature.h"
#include "program/side_by_side.h"

namespace lanner {
namespace {

class Tuning {
public:
  Tuning(std::span<Proposal* const> entries, const LowerOptions& options, const SearchMore& search)
      : entries_(entries), options_(options), search_(search) {}

  /// First all nodes' immediate offers, since a node without measurements is chosen by estimates. The rest of
  /// the budget goes into searches for more.
  void run() {
    count();
    time_offers();
    const std::vector<Proposal*> rest = slowest_first();
    const auto at_once = static_cast<std::size_t>(making_threads(options_.target));
    for (std::size_t first = 0; first < rest.size(); first += at_once)
      search_and_time(std::span(rest).subspan(first, std::min(at_once, rest.size() - first)));
    options_.tuner.set_network(total_);
    const auto all = static_cast<double>(entries_.size());
    options_.control.report({"tune", all, all, "kernels"});
  }

private:
  void time_offers() {
    const std::vector<Proposal*> entries = slowest_first();
    double weights = total_;
    std::size_t done = 0;
    const Tuner::Preparing preparing = prepare(entries, [](std::size_t) { return std::size_t{0}; });
    for (Proposal* entry : entries) {
      options_.control.report(
          {"tune", static_cast<double>(done++), static_cast<double>(entries.size()), "kernels"});
      options_.control.cancel.check();
      const double part = weight(*entry);
      time(*entry, 0, share(part, weights));
      weights -= part;
    }
  }

  /// Starts to prepare the alternatives of each from number first(i) on.
  template<typename First>
  Tuner::Preparing prepare(std::span<Proposal* const> entries, First first) {
    const Tuner& tuner = options_.tuner;
    if (!tuner.measures() || tuner.spent() >= tuner.budget()) return Tuner::Preparing();
    std::vector<Untried> nodes;
    for (std::size_t i = 0; i < entries.size(); ++i)
      nodes.push_back({entries[i]->node, candidates_of(*entries[i], first(i))});
    return options_.tuner.prepare(nodes, Tuner::For::timing);
  }

  void search_and_time(std::span<Proposal* const> entries) {
    std::vector<Proposal*> paying;
    std::vector<std::size_t> timed;
    for (Proposal* entry : entries) {
      timed.push_back(entry->list.size());
      if (pays_to_search(*entry)) paying.push_back(entry);
    }
    search_(paying);
    {
      const Tuner::Preparing preparing = prepare(entries, [&](std::size_t i) { return timed[i]; });
      for (std::size_t i = 0; i < entries.size(); ++i)
        if (entries[i]->list.size() > timed[i]) time(*entries[i], timed[i], for_searches());
    }
    for (Proposal* entry : entries) drop_guesses(*entry);
  }

  /// Expected time of a node: the least measured or estimated one.
  static double weight(const Proposal& entry) {
    double least = std::numeric_limits<double>::infinity();
    for (const Alternative& alternative : entry.list)
      if (alternative.backend) least = std::min(least, alternative.cost.seconds);
    return std::isfinite(least) ? least : 0;
  }

  /// Seconds spent after which a node must leave the rest of the budget to later nodes. It may take more than
  /// its share, since equal nodes are timed once.
  double share(double weight, double weights) const {
    constexpr double generous = 4;
    const Tuner& tuner = options_.tuner;
    const double part = weights > 0 ? std::min(1.0, generous * weight / weights) : 1;
    // Trusted kernels are checked once they are chosen.
    return tuner.spent() + part * std::max(0.0, for_searches() - tuner.spent());
  }

  /// A budget that runs out has then been spent on the nodes that matter most.
  std::vector<Proposal*> slowest_first() {
    std::vector<std::pair<double, Proposal*>> order;
    for (Proposal* entry : entries_) order.emplace_back(weight(*entry), entry);
    std::ranges::stable_sort(order, std::ranges::greater{}, &std::pair<double, Proposal*>::first);
    std::vector<Proposal*> entries;
    for (const auto& [seconds, entry] : order) entries.push_back(entry);
    return entries;
  }

  /// Times the alternatives of a node from number `first` on, in order of estimates, and removes wrong ones.
  void time(Proposal& entry, std::size_t first, double until) {
    std::stable_sort(
        entry.list.begin() + static_cast<std::ptrdiff_t>(first), entry.list.end(),
        [](const Alternative& a, const Alternative& b) { return a.tactic.estimate < b.tactic.estimate; });
    const double guessed = weight(entry);
    const std::vector<Cost> costs =
        options_.tuner.costs(*entry.node, candidates_of(entry), {until, worth(entry)});
    auto cost = costs.begin();
    for (Alternative& one : entry.list)
      if (one.backend) one.cost = *cost++;
    for (std::size_t i = 0; i < entry.list.size();)
      if (entry.list[i].cost.wrong.empty())
        ++i;
      else
        reject(entry, i, std::string(entry.list[i].cost.wrong), options_);
    total_ += weight(entry) - guessed;
  }

  /// Seconds of a node's run that make no difference to the network's.
  double worth(const Proposal& entry) const { return Effort::unnoticed * total_ / equal_.at(&entry); }

  /// Seconds of the budget after which searches end. The rest is for groups that compete with the first cover
  /// on a GPU, where searches compile a kernel for each tile; and for checks of what is chosen.
  double for_searches() const {
    constexpr double part = 0.85;
    return options_.tuner.budget() * part;
  }

  /// Whether a search, which takes long, is worth it: for nodes with a large share of the network's time.
  bool pays_to_search(const Proposal& entry) const {
    constexpr double noticed = 5e-3;
    return options_.tuner.spent() < for_searches() && weight(entry) * equal_.at(&entry) >= noticed * total_;
  }

  void count() {
    std::map<std::string, double> counts;
    for (const Proposal* entry : entries_) {
      ++counts[signature(*entry->node)];
      total_ += weight(*entry);
    }
    for (const Proposal* entry : entries_) equal_[entry] = counts[signature(*entry->node)];
    total_ = std::max(total_, options_.tuner.network());
  }

  /// Where some alternatives were measured, those with estimates only become the reserve, except aliases,
  /// which have nothing to measure.
  static void drop_guesses(Proposal& entry) {
    const auto is_guess = [](const Alternative& one) { return one.backend && !one.cost.measured; };
    if (std::ranges::none_of(entry.list, [](const Alternative& one) { return one.cost.measured; })) return;
    std::ranges::copy_if(entry.list, std::back_inserter(entry.reserve), is_guess);
    std::erase_if(entry.list, is_guess);
  }

  std::span<Proposal* const> entries_;
  const LowerOptions& options_;
  const SearchMore& search_;
  std::map<const Proposal*, double> equal_; ///< Number of nodes that do the same work.
  double total_ = 0;                        ///< Expected time of the whole network.
};

} // namespace

std::vector<Candidate> candidates_of(const Proposal& entry, std::size_t first) {
  std::vector<Candidate> candidates;
  for (std::size_t i = first; i < entry.list.size(); ++i)
    if (const Alternative& one = entry.list[i]; one.backend) candidates.push_back({one.backend, &one.tactic});
  return candidates;
}

void time_alternatives(std::span<Proposal* const> entries, const LowerOptions& options,
                       const SearchMore& search) {
  Tuning(entries, options, search).run();
}

} // namespace lanner
