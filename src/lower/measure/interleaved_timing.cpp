#include "lower/measure/interleaved_timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanner {
namespace {

constexpr double quantile = 0.25;
/// Probability, on each side, that the interval does not contain the quantile.
constexpr double tail = 0.05;

/// The ranks of the samples between which the quantile lies, by the binomial distribution of how many of
/// `count` are below it.
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
    for (const Runner& runner : runners) contenders_.push_back({runner});
  }

  std::vector<Timing> run() {
    for (Contender& contender : contenders_) take_first_impression(contender);
    while (untrusted() || (!settled() && spent_ < options_.limit)) {
      const auto running = std::ranges::count_if(contenders_, &Contender::runs);
      for (Contender& contender : contenders_)
        if (contender.runs) take_samples(contender, running > 1);
      for (Contender& contender : contenders_) judge(contender);
    }
    std::vector<Timing> timings;
    for (const Contender& contender : contenders_) timings.push_back(contender.timing);
    return timings;
  }

private:
  struct Contender {
    const Runner& runner;
    std::vector<double> samples = {};
    Timing timing = {};
    int times = 1; ///< Runs in one sample.
    double spent = 0;
    bool runs = true;
  };

  /// Ratio to the fastest beyond which a contender is useless, whatever its storages save elsewhere.
  static constexpr double much_slower = 2.5;
  /// Seconds of work after which sleeping threads have woken up.
  static constexpr double awake = 1.9e-4;

  double sample(Contender& contender, int times) {
    const double seconds = std::max(contender.runner.run(times), 1e-9);
    if (!std::isfinite(seconds)) {
      contender.runs = false;
      contender.timing = {seconds, 0};
      return seconds;
    }
    contender.spent += seconds * times;
    spent_ += seconds * times;
    return seconds;
  }

  /// Gives up a much slower contender at once, but not for one disturbed sample.
  void take_first_impression(Contender& contender) {
    constexpr double long_time = 0.02;
    constexpr int usual = 2, most = 4, max_times = 64;
    // The first run includes code generation and page faults.
    constexpr double late = 1e-4; // Slower work is not affected by a thread that wakes late.
    const double first = sample(contender, 1);
    const int times = contender.runner.by_threads && first < late
                          ? static_cast<int>(std::clamp(std::ceil(awake / first), 1.0, double{max_times}))
                          : 1;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < most && contender.runs; ++i) {
      if (i >= usual && (!hopeless(contender, least) || contender.spent > long_time)) break;
      contender.samples.push_back(sample(contender, times));
      least = std::min(least, contender.samples.back());
    }
    if (hopeless(contender, least)) contender.runs = false;
    if (failed(contender)) return;
    contender.timing = timing_of(contender.samples);
    best_ = std::min(best_, contender.timing.seconds);
    contender.times = static_cast<int>(
        std::clamp(std::ceil(contender.runner.grain / contender.timing.seconds), 1.0, double{max_times}));
    if (contender.runs && contender.times > 1) contender.samples.clear();
  }

  /// Whether it is too slow, judged by single runs.
  bool hopeless(const Contender& contender, double seconds) const {
    return seconds > much_slower * best_ + contender.runner.launch;
  }

  /// The previous contender has left its own data in the caches and the threads asleep.
  void warm_up(Contender& contender) {
    constexpr double quickest = 2e-5;
    constexpr double max_times = 256;
    const bool once = !contender.runner.by_threads || contender.timing.seconds >= quickest;
    sample(contender, once ? 1 : static_cast<int>(std::min(awake / contender.timing.seconds, max_times)));
  }

  void take_samples(Contender& contender, bool others) {
    constexpr double slow = 1e-3;
    constexpr int quick_samples = 3;
    const bool quick = contender.timing.seconds < slow;
    if (others && quick) warm_up(contender);
    for (int i = 0; i < (quick ? quick_samples : 1) && contender.runs; ++i)
      contender.samples.push_back(sample(contender, contender.times));
    if (failed(contender)) return;
    contender.timing = timing_of(contender.samples);
    best_ = std::min(best_, contender.timing.seconds);
  }

  static bool failed(const Contender& contender) { return !std::isfinite(contender.timing.seconds); }

  /// Gives up a contender that is significantly slower than another.
  void judge(Contender& contender) {
    constexpr std::size_t enough = 6;
    constexpr double advantage = 1.5; // what another storage may save elsewhere
    if (contender.runs && contender.timing.seconds - contender.timing.error > much_slower * best_)
      contender.runs = false;
    if (!contender.runs || contender.samples.size() < enough) return;
    const double least = contender.timing.seconds - contender.timing.error;
    if (least > advantage * options_.rival) contender.runs = false;
    for (const Contender& other : contenders_) {
      if (!other.runs || other.samples.size() < enough) continue;
      const double most = other.timing.seconds + other.timing.error;
      if (least > (other.runner.kind == contender.runner.kind ? 1 : advantage) * most) contender.runs = false;
    }
  }

  /// Whether a contender has only single runs so far that are below the timer's resolution.
  bool untrusted() const {
    return std::ranges::any_of(
        contenders_, [](const Contender& contender) { return contender.runs && contender.samples.empty(); });
  }

  bool settled() const {
    constexpr double moment = 2e-3; // noise comes and goes
    const bool brief = std::ranges::count_if(contenders_, &Contender::runs) > 1 && spent_ < moment;
    return std::ranges::none_of(contenders_, [&](const Contender& contender) {
      return contender.runs && !settled(contender, brief);
    });
  }

  bool settled(const Contender& contender, bool brief) const {
    constexpr std::size_t few = 4, usual = 9, most = 30;
    constexpr double close = 0.02, alone = 0.1, long_time = 0.03;
    const std::size_t count = contender.samples.size();
    if (count >= most || (count >= few && contender.spent >= long_time)) return true;
    const double share = contenders_.size() > 1 ? close : alone;
    const double enough = std::max(share * contender.timing.seconds, options_.worth);
    return !brief && count >= (contender.timing.error <= options_.worth ? few : usual) &&
           contender.timing.error <= enough;
  }

  const InterleavedTimingOptions options_;
  std::vector<Contender> contenders_;
  double best_, spent_ = 0;
};

} // namespace

// The quantile lies between the `low`th smallest (where that is 0: as far below the least as this is below
// the quantile) and the `high`th.
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
