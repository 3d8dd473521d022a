#include "lower/measure/interleaved_timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanner {
namespace {

constexpr double quantile = 0.25;
/// On each side of the interval, of the cases in which it does not hold the quantile.
constexpr double tail = 0.05;

/// The numbers of the samples, in order, between which the quantile lies: by how many of `count` are below
/// it.
std::pair<std::size_t, std::size_t> ranks(std::size_t count) {
  // Probabilities that exactly k samples are below.
  double exactly = std::pow(1 - quantile, static_cast<double>(count)), at_most = exactly;
  std::size_t low = 0, high = count;
  bool low_found = false;
  for (std::size_t k = 0; k < count; ++k) {
    if (!low_found && at_most > tail) low = k, low_found = true;
    if (at_most >= 1 - tail) {
      high = k + 1;
      break;
    }
    exactly *= static_cast<double>(count - k) / static_cast<double>(k + 1) * quantile / (1 - quantile);
    at_most += exactly;
  }
  return {low, std::min(high, count)};
}

class InterleavedTiming {
public:
  InterleavedTiming(std::span<const Runner> runners, const InterleavedTimingOptions& options)
      : options_(options), best_(options.rival) {
    for (const Runner& runner : runners) run_streams_.push_back({runner});
  }

  std::vector<Timing> run() {
    for (Lane& lane : run_streams_) take_first_impression(lane);
    while (untrusted() || (!settled() && spent_ < options_.limit)) {
      const auto running = std::ranges::count_if(run_streams_, &Lane::runs);
      for (Lane& lane : run_streams_)
        if (lane.runs) take_turn(lane, running > 1);
      for (Lane& lane : run_streams_) judge(lane);
    }
    std::vector<Timing> timings;
    for (const Lane& lane : run_streams_) timings.push_back(lane.timing);
    return timings;
  }

private:
  struct Lane {
    const Runner& runner;
    std::vector<double> samples = {};
    Timing timing = {};
    int times = 1; ///< Runs in one sample.
    double spent = 0;
    bool runs = true;
  };

  /// Times as slow as another: of no use whatever storages save elsewhere.
  static constexpr double much_slower = 2.5;
  /// Seconds of work after which threads that serve it are there.
  static constexpr double awake = 1.9e-4;

  double sample(Lane& lane, int times) {
    const double seconds = std::max(lane.runner.run(times), 1e-9);
    if (!std::isfinite(seconds)) {
      lane.runs = false;
      lane.timing = {seconds, 0};
      return seconds;
    }
    lane.spent += seconds * times;
    spent_ += seconds * times;
    return seconds;
  }

  /// Who is much slower is given up at once, but not because something else ran just then.
  void take_first_impression(Lane& lane) {
    constexpr double long_time = 0.02;
    constexpr int usual = 2, most = 4, max_times = 64;
    // Code generation and page faults are in the first run.
    constexpr double late = 1e-4; // What is slower does not notice a thread that comes late.
    const double first = sample(lane, 1);
    const int times = lane.runner.by_threads && first < late
                          ? static_cast<int>(std::clamp(std::ceil(awake / first), 1.0, double{max_times}))
                          : 1;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < most && lane.runs; ++i) {
      if (i >= usual && (!hopeless(lane, least) || lane.spent > long_time)) break;
      lane.samples.push_back(sample(lane, times));
      least = std::min(least, lane.samples.back());
    }
    if (hopeless(lane, least)) lane.runs = false;
    if (failed(lane)) return;
    lane.timing = timing_of(lane.samples);
    best_ = std::min(best_, lane.timing.seconds);
    lane.times = static_cast<int>(
        std::clamp(std::ceil(lane.runner.grain / lane.timing.seconds), 1.0, double{max_times}));
    if (lane.runs && lane.times > 1) lane.samples.clear();
  }

  /// By single runs.
  bool hopeless(const Lane& lane, double seconds) const {
    return seconds > much_slower * best_ + lane.runner.launch;
  }

  /// What ran last has left its own data in the caches, and its threads asleep.
  void warm_up(Lane& lane) {
    constexpr double quickest = 2e-5;
    constexpr double max_times = 256;
    const bool once = !lane.runner.by_threads || lane.timing.seconds >= quickest;
    sample(lane, once ? 1 : static_cast<int>(std::min(awake / lane.timing.seconds, max_times)));
  }

  void take_turn(Lane& lane, bool others) {
    constexpr double slow = 1e-3;
    constexpr int quick_samples = 3;
    const bool quick = lane.timing.seconds < slow;
    if (others && quick) warm_up(lane);
    for (int i = 0; i < (quick ? quick_samples : 1) && lane.runs; ++i)
      lane.samples.push_back(sample(lane, lane.times));
    if (failed(lane)) return;
    lane.timing = timing_of(lane.samples);
    best_ = std::min(best_, lane.timing.seconds);
  }

  static bool failed(const Lane& lane) { return !std::isfinite(lane.timing.seconds); }

  /// Takes out who is slower than another for sure.
  void judge(Lane& lane) {
    constexpr std::size_t enough = 6;
    constexpr double advantage = 1.5; // what another storage may save elsewhere
    if (lane.runs && lane.timing.seconds - lane.timing.error > much_slower * best_) lane.runs = false;
    if (!lane.runs || lane.samples.size() < enough) return;
    const double least = lane.timing.seconds - lane.timing.error;
    if (least > advantage * options_.rival) lane.runs = false;
    for (const Lane& other : run_streams_) {
      if (!other.runs || other.samples.size() < enough) continue;
      const double most = other.timing.seconds + other.timing.error;
      if (least > (other.runner.kind == lane.runner.kind ? 1 : advantage) * most) lane.runs = false;
    }
  }

  /// Whether of someone only single runs are known that are too quick to be told by themselves.
  bool untrusted() const {
    return std::ranges::any_of(run_streams_,
                               [](const Lane& lane) { return lane.runs && lane.samples.empty(); });
  }

  bool settled() const {
    constexpr double moment = 2e-3; // what disturbs comes and goes
    const bool brief = std::ranges::count_if(run_streams_, &Lane::runs) > 1 && spent_ < moment;
    return std::ranges::none_of(run_streams_,
                                [&](const Lane& lane) { return lane.runs && !settled(lane, brief); });
  }

  bool settled(const Lane& lane, bool brief) const {
    constexpr std::size_t few = 4, usual = 9, most = 30;
    constexpr double close = 0.02, alone = 0.1, long_time = 0.03;
    const std::size_t count = lane.samples.size();
    if (count >= most || (count >= few && lane.spent >= long_time)) return true;
    const double share = run_streams_.size() > 1 ? close : alone;
    const double enough = std::max(share * lane.timing.seconds, options_.worth);
    return !brief && count >= (lane.timing.error <= options_.worth ? few : usual) &&
           lane.timing.error <= enough;
  }

  const InterleavedTimingOptions options_;
  std::vector<Lane> run_streams_;
  double best_, spent_ = 0;
};

} // namespace

// The quantile lies above the `low`th smallest (none where that is 0: then as far below the least as this is
// below the quantile) and below the `high`th.
Timing timing_of(std::vector<double>& samples) {
  std::ranges::sort(samples);
  const std::size_t count = samples.size();
  const double least = samples.front();
  const double middle = samples[static_cast<std::size_t>(quantile * static_cast<double>(count - 1) + 0.5)];
  if (count < 3) return {least, least / 4};
  const auto [low, high] = ranks(count);
  const double below = low > 0 ? samples[low - 1] : 2 * least - middle;
  const double above = samples[high - 1];
  return {middle, std::max(middle - below, above - middle)};
}

std::vector<Timing> time_interleaved(std::span<const Runner> runners,
                                     const InterleavedTimingOptions& options) {
  return InterleavedTiming(runners, options).run();
}

} // namespace lanner
