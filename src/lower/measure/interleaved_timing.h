#pragma once
// Several ways of doing one thing, timed against each other.

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "lower/measure/timing.h"

namespace lanner {

/// What a set of times of one thing says. What else runs on a machine only adds time, so that the slower ones
/// tell of that; the least may be luck. The lower quartile is neither: the median of the faster half.
/// `samples`, of which there is at least one, are in seconds; they are sorted.
Timing timing_of(std::vector<double>& samples);

/// One that takes part.
struct Runner {
  /// Does it `times` times and returns the seconds of one, on average; infinity where it fails, which ends
  /// the runner's race with that time.
  std::function<double(int times)> run;
  /// Seconds below which a measurement is not to be trusted: quicker work is repeated within one.
  double grain = 2e-5;
  /// Runners of one kind can stand for each other; the others' advantage may lie elsewhere, so that they are
  /// given up later only.
  std::size_t kind = 0;
  /// Runs on threads of this process. Those that another runner let sleep take longer to come than the
  /// quickest work takes; in a network they come from the node before.
  bool by_threads = false;
  /// Seconds that a single run may take beyond its part of a longer sample: a launch that nothing hides.
  double launch = 0;
};

struct InterleavedTimingOptions {
  /// Seconds of the fastest known that does not take part.
  double rival = std::numeric_limits<double>::infinity();
  /// Seconds of one run that make no difference: nothing is told apart that is closer.
  double worth = 0;
  /// Seconds that the race may take, as measured; each has a first impression all the same, and one turn
  /// where that is of single runs that are not to be trusted.
  double limit = std::numeric_limits<double>::infinity();
};

/// Times of all runners, taken in turns, so that what disturbs disturbs all of them. Who cannot win any more
/// runs no further; the race ends when more of it would tell nothing that is worth it. Calls for the runners
/// in order, who is likely to win should come first.
std::vector<Timing> time_interleaved(std::span<const Runner> runners,
                                     const InterleavedTimingOptions& options);

} // namespace lanner
