#pragma once
// Interleaved timing: several candidates timed in alternation.

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "lower/measure/timing.h"

namespace lanner {

/// Estimates the time of one run from samples by the lower quartile, the median of the faster half: other
/// load on the machine only adds time, so the slower samples measure that, and the least may be an outlier.
/// `samples`, at least one, are in seconds; they are sorted.
Timing timing_of(std::vector<double>& samples);

/// A candidate to be timed.
struct Runner {
  /// Runs it `times` times and returns the average seconds of one run; infinity where it fails, which ends
  /// this runner's timing with that result.
  std::function<double(int times)> run;
  /// Seconds below which a measurement is not reliable: faster work is repeated within one.
  double grain = 2e-5;
  /// Runners of one kind are interchangeable; those of another kind may save time elsewhere, so they are
  /// given up later.
  std::size_t kind = 0;
  /// Runs on threads of this process. Waking threads that another runner let sleep takes longer than the
  /// fastest work; in a network they are awake from the node before.
  bool by_threads = false;
  /// Seconds that a single run may take beyond its part of a longer sample: launch overhead that nothing
  /// hides.
  double launch = 0;
};

struct InterleavedTimingOptions {
  /// Seconds of the fastest known alternative that is not timed here.
  double rival = std::numeric_limits<double>::infinity();
  /// Seconds of one run that make no difference: closer candidates are not distinguished.
  double worth = 0;
  /// Bound of the measured seconds of all runs; each runner still has its first samples, and one round more
  /// where those are single runs below the resolution.
  double limit = std::numeric_limits<double>::infinity();
};

/// Times of all runners, interleaved, so noise hits every one alike. A runner that cannot win any more is
/// dropped; timing ends when more samples would not change the choice. Calls the runners in order: the likely
/// winner should come first.
std::vector<Timing> time_interleaved(std::span<const Runner> runners,
                                     const InterleavedTimingOptions& options);

} // namespace lanner
