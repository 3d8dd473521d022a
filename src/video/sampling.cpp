#include "video/sampling.h"

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

namespace lanner {

namespace {

__extension__ using Wide = __int128;

void require_times(const StreamIndex& index) {
  check(!index.frames.empty(), ErrorCode::bad_data, "stream {} has no frames", index.stream);
  const bool timed = index.time_base.num > 0 && index.time_base.den > 0;
  const bool rising = std::is_sorted(index.frames.begin(), index.frames.end(),
                                     [](const auto& a, const auto& b) { return a.pts < b.pts; });
  check(timed && rising && index.frames.front().pts != no_pts, ErrorCode::unsupported,
        "stream {} does not say when its frames are shown; ask for them by number", index.stream);
}

// The last frame without a duration is shown for as long as the one before.
std::int64_t end_pts(const StreamIndex& index) {
  const IndexEntry& last = index.frames.back();
  const std::size_t count = index.frames.size();
  std::int64_t duration = last.duration, end = 0;
  if (duration <= 0)
    duration = count > 1 ? std::max<std::int64_t>(1, last.pts - index.frames[count - 2].pts) : 1;
  return __builtin_add_overflow(last.pts, duration, &end) ? INT64_MAX : end;
}

// Number of the last frame that began by `seconds`, -1 before the first.
std::int64_t begun_by(const StreamIndex& index, double seconds) {
  const auto after = std::upper_bound(
      index.frames.begin(), index.frames.end(), seconds,
      [&](double time, const IndexEntry& entry) { return time < seconds_of(entry.pts, index.time_base); });
  return after - index.frames.begin() - 1;
}

} // namespace

std::int64_t index_at(const StreamIndex& index, double seconds) {
  require_times(index);
  const double begin = seconds_of(index.frames.front().pts, index.time_base);
  const double end = seconds_of(end_pts(index), index.time_base);
  check(seconds >= begin && seconds < end, ErrorCode::invalid_argument,
        "no frame is on the screen at {} s: the stream plays from {} s to before {} s", seconds, begin, end);
  return begun_by(index, seconds);
}

std::vector<std::int64_t> indices_played_in(const StreamIndex& index, double begin, double end) {
  require_times(index);
  check(begin <= end, ErrorCode::invalid_argument,
        "a range from {} s to {} s; it has to end behind its begin", begin, end);
  std::vector<std::int64_t> indices;
  if (begin == end || begin >= seconds_of(end_pts(index), index.time_base)) return indices;
  const auto count = static_cast<std::int64_t>(index.frames.size());
  for (std::int64_t i = std::max<std::int64_t>(0, begun_by(index, begin)); i < count; ++i) {
    if (seconds_of(index.frames[static_cast<std::size_t>(i)].pts, index.time_base) >= end) break;
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
  require_times(index);
  constexpr std::int64_t most = INT32_MAX; // So that the products below fit.
  check(rate.num > 0 && rate.den > 0 && rate.num <= most && rate.den <= most, ErrorCode::invalid_argument,
        "sample: a rate of {}/{} frames a second; expected a fraction above 0 of numbers up to {}", rate.num,
        rate.den, most);
  const Rational base = index.time_base;
  const std::int64_t begin = index.frames.front().pts;
  // Ticks since the begin times this is time in units of 1 / (base.den * rate.num) seconds.
  const Wide tick = Wide{base.num} * rate.num, step = Wide{rate.den} * base.den;
  check(base.num <= most && base.den <= most, ErrorCode::unsupported, "sample: a time base of {}/{} s",
        base.num, base.den);
  const Wide length = (Wide{end_pts(index)} - begin) * tick;
  check((length + step - 1) / step <= Wide{limits.frames}, ErrorCode::limit_exceeded,
        "sample: more than Limits::frames = {} frames", limits.frames);
  std::vector<std::int64_t> indices;
  std::size_t i = 0;
  for (Wide time = 0; time < length; time += step) {
    while (i + 1 < index.frames.size() && (Wide{index.frames[i + 1].pts} - begin) * tick <= time) ++i;
    indices.push_back(static_cast<std::int64_t>(i));
  }
  return indices;
}

} // namespace lanner
