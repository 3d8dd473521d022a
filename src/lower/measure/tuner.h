#pragma once
// Times tactics and checks their results against the operator's definition.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/error.h>

#include "graph/backend.h"
#include "lower/measure/interleaved_timing.h"
#include "lower/measure/timing_cache.h"
#include "program/lowered/report.h"
#include "program/weights/weights.h"

namespace lanner {

class PreparationQueue;
class Trial;
class TrialData;

/// Cost of a tactic, how it is known, and whether the tactic may be used.
struct Cost {
  double seconds = 0;
  bool measured = false;
  double error = 0; ///< Of the measured seconds, see Timing.
  Trust trust = Trust::none;
  std::string wrong = {}; ///< Why it must not be used; empty where no fault is known.
};

/// One way of running a node; both outlive the call that they are passed to.
struct Candidate {
  const Backend* backend = nullptr;
  const Tactic* tactic = nullptr;
};

/// How much time may be spent on the candidates of a node.
struct Effort {
  /// Share of a network's run time below which a difference is ignored.
  static constexpr double unnoticed = 1e-3;
  /// Nothing more starts after this many seconds were spent, or after the budget if that is less.
  double until = 0;
  double worth = 0; ///< A difference of this many seconds per run is ignored.
};

/// A node and those of its tactics that are to be checked and timed.
struct Untried {
  const Node* node = nullptr;
  std::vector<Candidate> candidates;
};

/// Kernels that a tuner compared with the definition.
struct Checks {
  std::size_t kernels = 0;
  std::size_t missed = 0; ///< Not compared, for lack of time.
  double seconds = 0;
};

/// Checks and times kernels within a budget of wall time; after it, costs come from the cache and from the
/// tactics' own estimates. Results are stored in the cache and shared with other builds at once. Concurrent
/// builds time one after the other; waiting for the timing lock does not count. One user at a time.
class Tuner {
public:
  Tuner(Target target, double budget, TimingCache& cache, WeightStore& constants, const Control& control);
  ~Tuner();

  /// The cost of each candidate for running `node`: unknown ones are timed interleaved; one that cannot be
  /// the fastest is dropped early. Those that are not trusted are checked before. The likely winner should
  /// come first.
  std::vector<Cost> costs(const Node& node, std::span<const Candidate> candidates, const Effort& effort);
  /// The cost of a conversion. Many are requested and few used, so it is checked by vet() only, and its
  /// timing stops early if it is much slower than `best` seconds.
  Cost cost(const Node& node, const Backend& backend, const Tactic& tactic, double best, double until);
  /// Checks a tactic that is to be used, unless it was checked before. With no time left for that (see
  /// set_vetting()), and in a deterministic build, the list of trusted kernels decides.
  Cost vet(const Node& node, const Backend& backend, const Tactic& tactic);
  /// Starts to make what costs() and vet() will need for these, in this order, as far as it is unknown: on a
  /// GPU, whose kernels take long to compile and leave the cores free while they are timed, by the threads of
  /// the target; on a CPU it does nothing. The nodes stay as they are as long as the returned object lives,
  /// whose end waits for what was begun; that time counts.
  class Preparing;
  /// What comes next: costs(), or vet(), which compares with the definition's results whatever is trusted.
  enum class For : std::uint8_t { timing, check };
  [[nodiscard]] Preparing prepare(std::span<const Untried> nodes, For purpose);
  /// Calls `look`, which searches for more candidates, where the budget has time left; the search counts.
  void search(const std::function<void()>& look);

  /// Expected seconds of a run of the whole network; 0 until set.
  double network() const noexcept { return network_; }
  void set_network(double seconds) noexcept { network_ = seconds; }

  /// Seconds that all calls of vet() together may take after the budget; 2 by default.
  void set_vetting(double seconds) noexcept { vetting_ = seconds; }

  /// Accepts unchecked tactics from now on; for programs that never run and only report how much memory they
  /// need.
  void believe() noexcept { believes_ = true; }
  /// Uses trusted kernels without a check from now on; for a first run, which a caller waits for.
  void take_trusted() noexcept { takes_trusted_ = true; }

  double budget() const noexcept { return budget_; }
  double spent() const noexcept { return spent_; }
  const Checks& checks() const noexcept { return checks_; }
  bool measures() const noexcept { return budget_ > 0 && !target_.deterministic; }

private:
  struct Entrant;
  class Spending;
  std::string key(const Node& node, const Backend& backend, const Tactic& tactic) const;
  bool finds_constants_cold() const;
  Cost known(const std::string& name, const Backend& backend, const Tactic& tactic) const;
  std::vector<Cost> costs(const Node& node, std::span<const Candidate> candidates, double rival,
                          const Effort& effort, bool checked);
  static bool checked_first(const Candidate& one);
  void find_out(const Node& node, std::span<Entrant> entrants, double rival, const Effort& effort);
  void try_out(Entrant& entrant, const Node& node, double left);
  void make_trial(Entrant& entrant, const Node& node, bool checked, double left);
  void time(std::span<Entrant* const> batch, const Node& node, InterleavedTimingOptions options,
            Spending& spending);
  double timed(Entrant& entrant, int times);
  void note_failure(const std::string& name, const Error& error);
  static std::string data_name(const Node& node);
  std::shared_ptr<TrialData> data_of(const Node& node);

  Target target_;
  double budget_;
  TimingCache& cache_;
  WeightStore& constants_;
  const Control& control_;
  double spent_ = 0, network_ = 0;
  double vetting_ = 2, vetted_ = 0; ///< Seconds that vet() may take, and has taken.
  Checks checks_;
  mutable std::optional<bool> cold_; ///< See finds_constants_cold(); decided once.
  bool believes_ = false, takes_trusted_ = false;
  std::shared_ptr<TrialData> data_; ///< Of the node that was tried last.
  std::string data_name_;
  std::unique_ptr<PreparationQueue> prepared_;
  std::map<std::string, Verdict> failed_now_; ///< Failures of this build alone.
};

class Tuner::Preparing {
public:
  explicit Preparing(Tuner* tuner = nullptr) : tuner_(tuner) {}
  Preparing(Preparing&& other) noexcept : tuner_(std::exchange(other.tuner_, nullptr)) {}
  Preparing& operator=(Preparing&&) = delete;
  ~Preparing();

private:
  Tuner* tuner_;
};

} // namespace lanner
