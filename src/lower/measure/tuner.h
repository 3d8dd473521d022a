#pragma once
// Measures tactics, and checks that they give what the definition gives.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/error.h>

#include "graph/backend.h"
#include "lower/measure/interleaved_timing.h"
#include "lower/measure/timing_cache.h"
#include "program/lowered/report.h"
#include "program/weights/weights.h"

namespace lanner {

class Trial;
class TrialData;

/// What a tactic costs, how that is known, and whether it may be taken.
struct Cost {
  double seconds = 0;
  bool measured = false;
  double error = 0; ///< Of what was measured, see Timing.
  Trust trust = Trust::none;
  std::string wrong = {}; ///< Why it must not be taken; empty where nothing is known against it.
};

/// One way of running a node; both outlive the call that they are given to.
struct Candidate {
  const Backend* backend = nullptr;
  const Tactic* tactic = nullptr;
};

/// How far the candidates of a node are worth timing.
struct Effort {
  /// Of a network's seconds, that make no difference to it.
  static constexpr double unnoticed = 1e-3;
  double until = 0; ///< Seconds spent at which nothing more is begun; the budget, where that comes first.
  double worth = 0; ///< Seconds of one run that make no difference to the network.
};

/// Kernels that a tuner compared with the definition.
struct Checks {
  std::size_t kernels = 0;
  std::size_t missed = 0; ///< That there was no time for.
  double seconds = 0;
};

/// Checks and times kernels within a budget of wall time; past it, answers with what is known and the
/// tactics' own estimates. What it found out is kept in the cache, and told to other builds at once. Builds
/// that run at the same time take turns at timing; waiting for a turn is not counted. One user at a time.
class Tuner {
public:
  Tuner(Target target, double budget, TimingCache& cache, WeightStore& constants, const Control& control);
  ~Tuner();

  /// What each of the candidates for running `node` costs: those of which that is not known are checked and
  /// timed against each other, and those go no further that cannot be the fastest. Who is likely to win
  /// should come first.
  std::vector<Cost> costs(const Node& node, std::span<const Candidate> candidates, const Effort& effort);
  /// The same of one that many ask for and few take, a conversion: it is not checked before vet() asks for
  /// that, and given up early where it is much slower than `best` seconds.
  Cost cost(const Node& node, const Backend& backend, const Tactic& tactic, double best, double until);
  /// Makes sure of a tactic that is to be taken: checks it where that was not done. Where there is no time
  /// left for that, see set_vetting(), and in a deterministic build, the list alone decides.
  Cost vet(const Node& node, const Backend& backend, const Tactic& tactic);
  /// Looks for more to measure where there is time for it: not past the budget, which the search is part of.
  void search(const std::function<void()>& look);

  /// What a run of the whole network is expected to take, in seconds; 0 as long as nobody has said.
  double network() const noexcept { return network_; }
  void set_network(double seconds) noexcept { network_ = seconds; }

  /// Seconds that all calls of vet() together may take where the budget has no more; 2 at first.
  void set_vetting(double seconds) noexcept { vetting_ = seconds; }

  /// From now on what is not known is believed: for programs that tell how much memory they need, and never
  /// run.
  void believe() noexcept { believes_ = true; }
  /// From now on kernels of the project's list are taken without a check: for a first run, which waits.
  void take_trusted() noexcept { takes_trusted_ = true; }

  double budget() const noexcept { return budget_; }
  double spent() const noexcept { return spent_; }
  const Checks& checks() const noexcept { return checks_; }
  bool measures() const noexcept { return budget_ > 0 && !target_.deterministic; }

private:
  struct Entrant;
  class Spending;
  std::string key(const Node& node, const Backend& backend, const Tactic& tactic) const;
  Cost known(const std::string& name, const Backend& backend, const Tactic& tactic) const;
  std::vector<Cost> costs(const Node& node, std::span<const Candidate> candidates, double rival,
                          const Effort& effort, bool checked);
  void find_out(const Node& node, std::span<Entrant> entrants, double rival, const Effort& effort,
                bool checked);
  void try_out(Entrant& entrant, const Node& node, bool checked, double left);
  void make_trial(Entrant& entrant, const Node& node, bool checked, double left);
  void time(std::span<Entrant* const> heat, const Node& node, InterleavedTimingOptions options,
            Spending& spending);
  double timed(Entrant& entrant, int times);
  void note_failure(const std::string& name, const Error& error);
  std::shared_ptr<TrialData> data_of(const Node& node);

  Target target_;
  double budget_;
  TimingCache& cache_;
  WeightStore& constants_;
  const Control& control_;
  double spent_ = 0, network_ = 0;
  double vetting_ = 2, vetted_ = 0; ///< Seconds that vet() may take, and has taken.
  Checks checks_;
  bool believes_ = false, takes_trusted_ = false;
  std::shared_ptr<TrialData> data_; ///< Of the node that was tried last.
  std::string data_name_;
  std::map<std::string, Verdict> failed_now_; ///< Failures of this build alone.
};

} // namespace lanner
