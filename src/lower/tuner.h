#pragma once
// Measures tactics, and checks that they give what the definition gives.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <lanner/cancel.h>

#include "graph/tactic.h"
#include "lower/timing_cache.h"
#include "plan/packing.h"

namespace lanner {

class Trial;
class TrialData;

/// Why a tactic may be taken.
enum class Trust : std::uint8_t {
  none,    ///< Nothing is known of it yet.
  checked, ///< It gave what the definition gives, on this machine or one like it.
  vouched, ///< It is on the project's list, see vouched().
};
std::string_view to_string(Trust trust);
Trust parse_trust(std::string_view text); ///< `none` for any other text.

/// What a tactic costs, how that is known, and whether it may be taken.
struct Cost {
  double seconds = 0;
  bool measured = false;
  Trust trust = Trust::none;
  std::string wrong = {}; ///< Why it must not be taken; empty where nothing is known against it.
};

/// Checks and times kernels within a budget of wall time; past it, answers with what is known and the
/// tactics' own estimates. What it found out is kept in the cache. One user at a time.
class Tuner {
public:
  Tuner(Target target, double budget, TimingCache& cache, PackedConstants& constants, const Control& control);
  ~Tuner();

  /// Seconds of one run of `node` by `tactic`, which is checked first. `best` is the fastest seen so far for
  /// this node: a tactic that is much slower is given up early. Past `until` seconds spent, or past the
  /// budget where that comes first, nothing is run.
  Cost cost(const Node& node, const Backend& backend, const Tactic& tactic, double best, double until);
  /// Times a tactic again that this build has timed, the `round`th time, within budget and `until`: what ran
  /// beside it then only added to its seconds, so the least counts. Equal nodes are timed once a round.
  Cost again(const Node& node, const Backend& backend, const Tactic& tactic, int round, double until);
  /// Makes sure of a tactic that is to be taken: checks it, whatever is left of the budget, where that was
  /// not done. In a deterministic build the list alone decides.
  Cost vet(const Node& node, const Backend& backend, const Tactic& tactic);
  /// What `backend` offers for `node` when there is time: nothing past the budget, which the search is part
  /// of.
  TacticList more_tactics(const Node& node, const Backend& backend);

  double budget() const noexcept { return budget_; }
  double spent() const noexcept { return spent_; }
  bool measures() const noexcept { return budget_ > 0 && !target_.deterministic; }

private:
  std::string key(const Node& node, const Backend& backend, const Tactic& tactic) const;
  Cost known(const std::string& name, const Backend& backend, const Tactic& tactic) const;
  void try_out(const std::string& name, const Node& node, const Backend& backend, const Tactic& tactic,
               double best, bool timed);
  TrialData& data_of(const Node& node);

  Target target_;
  double budget_;
  TimingCache& cache_;
  PackedConstants& constants_;
  const Control& control_;
  double spent_ = 0;
  std::unique_ptr<TrialData> data_; ///< Of the node that was tried last.
  std::string data_name_;
  std::map<std::string, Verdict> failed_now_; ///< Failures of this build alone.
  std::map<std::string, int> timed_now_;      ///< Rounds, of what this build has timed.
};

} // namespace lanner
