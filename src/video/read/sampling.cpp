#include "video/read/sampling.h"

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "video/index/frame_times.h"

namespace lanner {

namespace {

__extension__ using Wide = __int128;

/// When the frames of an index are shown.
class Clock {
public:
  explicit Clock(const StreamIndex& index) : frames_(index.frames), base_(index.time_base) {
    check(!frames_.empty(), ErrorCode::bad_data, "stream {} has no frames", index.stream);
    const bool told =
        std::ranges::none_of(frames_, [](const IndexEntry& frame) { return frame.pts == no_pts; }) &&
        std::ranges::is_sorted(frames_, {}, &IndexEntry::pts);
    if (!told) filled_ = shown_times(index);
    check(base_.num > 0 && base_.den > 0 && (told || !filled_.empty()), ErrorCode::unsupported,
          "stream {} does not say when its frames are shown; ask for them by number", index.stream);
  }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(frames_.size()); }
  std::int64_t pts(std::int64_t i) const {
    const auto place = static_cast<std::size_t>(i);
    return filled_.empty() ? frames_[place].pts : filled_[place];
  }
  double seconds(std::int64_t i) const { return seconds_of(pts(i), base_); }
  double end_seconds() const { return seconds_of(end(), base_); }

  /// The last frame without a duration is shown for as long as the one before.
  std::int64_t end() const {
    const std::int64_t last = pts(size() - 1);
    std::int64_t duration = frames_.back().duration, end = 0;
    if (duration <= 0) duration = size() > 1 ? std::max<std::int64_t>(1, last - pts(size() - 2)) : 1;
    return __builtin_add_overflow(last, duration, &end) ? INT64_MAX : end;
  }

  /// Number of the last frame that began by `time`, -1 before the first.
  std::int64_t begun_by(double time) const {
    std::int64_t begin = 0, end = size();
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (seconds(middle) <= time)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin - 1;
  }

private:
  const std::vector<IndexEntry>& frames_;
  Rational base_;
  std::vector<std::int64_t> filled_; ///< Empty where the container tells all.
};

} // namespace

std::int64_t index_at(const StreamIndex& index, double seconds) {
  const Clock clock(index);
  const double begin = clock.seconds(0), end = clock.end_seconds();
  check(seconds >= begin && seconds < end, ErrorCode::invalid_argument,
        "no frame is on the screen at {} s: the stream plays from {} s to before {} s", seconds, begin, end);
  return clock.begun_by(seconds);
}

std::vector<std::int64_t> indices_played_in(const StreamIndex& index, double begin, double end) {
  const Clock clock(index);
  check(begin <= end, ErrorCode::invalid_argument,
        "a range from {} s to {} s; it has to end behind its begin", begin, end);
  std::vector<std::int64_t> indices;
  if (begin == end || begin >= clock.end_seconds()) return indices;
  for (std::int64_t i = std::max<std::int64_t>(0, clock.begun_by(begin)); i < clock.size(); ++i) {
    if (clock.seconds(i) >= end) break;
    indices.push_back(i);
  }
  return indices;
}

std::vector<std::int64_t> sample(const StreamIndex& index, std::int64_t count, const Limits& limits) {
  check(!index.frames.empty(), ErrorCode::bad_data, "stream {} has no frames", index.stream);
  check(count >= 0 && static_cast<std::uint64_t>(count) <= limits.frames, ErrorCode::invalid_argument,
        "sample: {} frames; expected 0 to Limits::frames = {}", count, limits.frames);
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k)
    indices.push_back(static_cast<std::int64_t>((2 * Wide{k} + 1) * static_cast<Wide>(index.frames.size()) /
                                                (2 * Wide{count})));
  return indices;
}

std::vector<std::int64_t> sample(const StreamIndex& index, Rational rate, const Limits& limits) {
  const Clock clock(index);
  constexpr std::int64_t most = INT32_MAX; // So that the products below fit.
  check(rate.num > 0 && rate.den > 0 && rate.num <= most && rate.den <= most, ErrorCode::invalid_argument,
        "sample: a rate of {}/{} frames a second; expected a fraction above 0 of numbers up to {}", rate.num,
        rate.den, most);
  const Rational base = index.time_base;
  const std::int64_t begin = clock.pts(0);
  // Ticks since the begin times this is time in units of 1 / (base.den * rate.num) seconds.
  const Wide tick = Wide{base.num} * rate.num, step = Wide{rate.den} * base.den;
  check(base.num <= most && base.den <= most, ErrorCode::unsupported, "sample: a time base of {}/{} s",
        base.num, base.den);
  const Wide length = (Wide{clock.end()} - begin) * tick;
  if ((length + step - 1) / step > Wide{limits.frames})
    fail_limit("frames", limits.frames, "sample: more frames");
  std::vector<std::int64_t> indices;
  std::int64_t i = 0;
  for (Wide time = 0; time < length; time += step) {
    while (i + 1 < clock.size() && (Wide{clock.pts(i + 1)} - begin) * tick <= time) ++i;
    indices.push_back(i);
  }
  return indices;
}

} // namespace lanner
