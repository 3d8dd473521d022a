#include "lower/measure/interleaved_timing.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace lanner {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Simulated runs: `seconds` times the factor that `disturbance` returns for the n-th call of all runners.
class Track {
public:
  using Disturbance = std::function<double(int call)>;
  explicit Track(Disturbance disturbance = [](int) { return 1.0; }) : disturbance_(std::move(disturbance)) {}

  void add(double seconds, std::size_t kind = 0, double grain = 0) { add_launched(seconds, 0, grain, kind); }
  /// Each sample takes `launch` seconds in addition.
  void add_launched(double seconds, double launch, double grain, std::size_t kind = 0) {
    const std::size_t number = runs.size();
    runs.push_back(0);
    samples.push_back(0);
    runners_.push_back({[this, seconds, launch, number](int times) {
                          runs[number] += times;
                          ++samples[number];
                          return seconds * disturbance_(calls_++) + launch / times;
                        },
                        grain, kind, false, launch});
  }
  std::vector<Timing> time_interleaved(const InterleavedTimingOptions& options = {}) {
    calls_ = 0;
    runs.assign(runs.size(), 0);
    samples.assign(runs.size(), 0);
    return lanner::time_interleaved(runners_, options);
  }

  std::vector<int> runs, samples; ///< By runner.

private:
  Disturbance disturbance_;
  std::vector<Runner> runners_;
  int calls_ = 0;
};

/// Pseudo-random between 1 and 1.2.
double jitter(int call) {
  return 1 + 0.2 * std::fmod(call * 0.618033988749895, 1.0);
}

TEST(Timing, IsTheLowerQuartileWithAConfidenceInterval) {
  std::vector<double> samples;
  for (int i = 100; i > 0; --i) samples.push_back(i);
  const Timing timing = timing_of(samples);
  EXPECT_NEAR(timing.seconds, 25.5, 1);
  // Of 100 samples, ranks 18 to 33 contain the quartile with 90 % confidence.
  EXPECT_NEAR(timing.error, 8, 1.5);
}

TEST(Timing, ErrorShrinksWithMoreSamples) {
  double last = infinite;
  for (const int count : {4, 12, 40, 160}) {
    std::vector<double> samples;
    for (int i = 0; i < count; ++i) samples.push_back(jitter(i));
    const Timing timing = timing_of(samples);
    EXPECT_LT(timing.error, last) << count;
    EXPECT_LE(std::abs(timing.seconds - 1.05), timing.error) << count;
    last = timing.error;
  }
}

TEST(Timing, OfOneSampleHasALargeError) {
  std::vector<double> one{2};
  EXPECT_EQ(timing_of(one).seconds, 2);
  EXPECT_GT(timing_of(one).error, 0.2);
}

TEST(InterleavedTiming, ReturnsTheTimesOfAllRunners) {
  Track track(jitter);
  track.add(1e-4);
  track.add(1.1e-4);
  track.add(1.3e-4, 1);
  const std::vector<Timing> timings = track.time_interleaved();
  ASSERT_EQ(timings.size(), 3u);
  EXPECT_NEAR(timings[0].seconds, 1.05e-4, 3e-6);
  EXPECT_NEAR(timings[1].seconds, 1.155e-4, 4e-6);
  EXPECT_NEAR(timings[2].seconds, 1.365e-4, 4e-6);
}

TEST(InterleavedTiming, MuchSlowerRunnerIsDroppedEarly) {
  Track track;
  track.add(1e-4);
  track.add(9e-4);
  const std::vector<Timing> timings = track.time_interleaved();
  EXPECT_LE(track.runs[1], 5);
  EXPECT_EQ(timings[1].seconds, 9e-4);
}

TEST(InterleavedTiming, RunnerMuchSlowerThanARivalIsDroppedEarly) {
  Track track;
  track.add(1e-4);
  track.time_interleaved({.rival = 1e-5});
  EXPECT_LE(track.runs[0], 5);
}

TEST(InterleavedTiming, SignificantlySlowerRunnerOfTheSameKindIsDropped) {
  Track track(jitter);
  track.add(1e-4);
  track.add(1.35e-4);
  track.add(1.35e-4, 1);
  track.time_interleaved();
  EXPECT_LT(track.samples[1], track.samples[0]);
  EXPECT_EQ(track.samples[2], track.samples[0]) << "its storage may save more elsewhere";
}

TEST(InterleavedTiming, EndsWhenMoreSamplesDoNotHelp) {
  Track quiet, noisy(jitter);
  for (Track* track : {&quiet, &noisy})
    for (const double seconds : {1e-4, 1.01e-4}) track->add(seconds);
  quiet.time_interleaved();
  noisy.time_interleaved();
  EXPECT_LT(quiet.samples[0], noisy.samples[0] / 2);
}

TEST(InterleavedTiming, EndsWhenDifferencesDoNotMatterToTheNetwork) {
  Track track(jitter);
  track.add(1e-4);
  track.add(1.01e-4);
  track.time_interleaved();
  const int samples = track.samples[0];
  track.time_interleaved({.worth = 1e-4});
  EXPECT_LT(track.samples[0], samples / 2);
}

TEST(InterleavedTiming, EndsAtItsLimit) {
  Track track(jitter);
  track.add(1e-4);
  track.add(1.01e-4);
  const std::vector<Timing> timings = track.time_interleaved({.limit = 0});
  EXPECT_EQ(track.runs[0], 3);
  EXPECT_GT(timings[0].seconds, 0);
  EXPECT_GT(timings[1].seconds, 0);
}

TEST(InterleavedTiming, LaunchOverheadDoesNotDropARunner) {
  Track track;
  track.add_launched(2e-6, 2e-5, 2e-4);
  EXPECT_LT(track.time_interleaved({.rival = 3e-6})[0].seconds, 4.5e-6);
}

TEST(InterleavedTiming, RunnerMuchSlowerThanARivalPlusLaunchIsDroppedEarly) {
  Track track;
  track.add_launched(1e-4, 2e-5, 2e-4);
  track.time_interleaved({.rival = 3e-6});
  EXPECT_LE(track.runs[0], 5);
}

TEST(InterleavedTiming, RunnerThatProvesMuchSlowerIsDropped) {
  Track track(jitter);
  track.add_launched(2e-6, 2e-5, 2e-4);
  track.add_launched(1.2e-5, 2e-5, 2e-4);
  const std::vector<Timing> timings = track.time_interleaved();
  EXPECT_LT(track.samples[1], track.samples[0]);
  EXPECT_LE(track.samples[1], 9);
  EXPECT_GT(timings[1].seconds, 1e-5);
}

TEST(InterleavedTiming, AtItsLimitNoTimeIsLaunchOverheadOnly) {
  Track track;
  track.add_launched(2e-6, 2e-5, 2e-4);
  track.add_launched(4e-6, 1e-5, 2e-4);
  const std::vector<Timing> timings = track.time_interleaved({.limit = 0});
  EXPECT_LT(timings[0].seconds, timings[1].seconds);
  EXPECT_LT(timings[1].seconds, 6e-6);
}

TEST(InterleavedTiming, DisturbanceHitsAllRunnersAlike) {
  Track track([](int call) { return call / 16 % 2 == 1 ? 3 * jitter(call) : jitter(call); });
  track.add(1.1e-4);
  track.add(1e-4);
  const std::vector<Timing> timings = track.time_interleaved();
  EXPECT_LT(timings[1].seconds, timings[0].seconds);
  EXPECT_LT(timings[1].seconds, 1.3e-4) << "the slower half does not count";
}

TEST(InterleavedTiming, OneDisturbedSampleDropsNoRunner) {
  // the second runner's first counted run
  Track track([](int call) { return call == 4 ? 100.0 : 1.0; });
  track.add(1.1e-4);
  track.add(1e-4);
  const std::vector<Timing> timings = track.time_interleaved();
  EXPECT_EQ(timings[1].seconds, 1e-4);
  EXPECT_GT(track.runs[1], 6);
}

TEST(InterleavedTiming, QuickWorkIsRepeatedWithinASample) {
  Track track;
  track.add(1e-6, 0, 2e-5);
  track.add(1e-4, 0, 2e-5);
  track.time_interleaved();
  EXPECT_GE(track.runs[0], 10 * track.samples[0]);
  EXPECT_EQ(track.runs[1], track.samples[1]);
}

TEST(InterleavedTiming, FailedRunnerIsNotRunAgain) {
  for (const int good : {0, 1, 4}) {
    int calls = 0;
    const std::vector<Runner> runners{{[&](int) { return ++calls > good ? infinite : 1e-4; }},
                                      {[](int) { return 1.01e-4; }}};
    const std::vector<Timing> timings = time_interleaved(runners, {});
    EXPECT_EQ(timings[0].seconds, infinite);
    EXPECT_EQ(calls, good + 1);
    EXPECT_EQ(timings[1].seconds, 1.01e-4);
  }
}

TEST(InterleavedTiming, OfNoRunnersIsEmpty) {
  EXPECT_TRUE(time_interleaved({}, {}).empty());
}

} // namespace
} // namespace lanner
