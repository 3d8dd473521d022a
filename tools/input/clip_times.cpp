#include "input/clip_times.h"

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "check.h"

namespace lanner::tool {
namespace {

constexpr std::int64_t mpeg4_ticks = 65535; // ISO/IEC 14496-2, vop_time_increment_resolution.

bool is_known(const Rational& value) {
  return value.num > 0 && value.den > 0;
}

/// AVI has no times: each chunk is shown for one tick. MPEG-1 and MPEG-2 count in frames.
bool counts_frames(const Container* container, const std::string& codec) {
  return (container && container->steady) || codec == "mpeg2" || codec == "mpeg2video" ||
         codec == "mpeg1video";
}

Rational base_for(const Rational& source, const Rational& rate, const Container* container,
                  const std::string& codec) {
  const Rational frames{rate.den, rate.num};
  if (counts_frames(container, codec) || !is_known(source)) return frames;
  const bool too_fine = (codec == "mpeg4" || codec == "libxvid") && source.den > mpeg4_ticks;
  if (!too_fine) return source;
  // The finest ticks that a frame's length is a whole number of.
  return rate.num <= mpeg4_ticks ? Rational{1, rate.num * (mpeg4_ticks / rate.num)}
                                 : Rational{1, mpeg4_ticks};
}

std::int64_t added(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  check(!__builtin_add_overflow(a, b, &sum), ErrorCode::bad_data, "time {} of a frame: cannot be written", a);
  return sum;
}

/// The nearest tick of `to`.
std::int64_t rescaled(std::int64_t ticks, const Rational& from, const Rational& to) {
  if (from == to) return ticks;
  const long double exact = static_cast<long double>(ticks) * static_cast<long double>(from.num) /
                            static_cast<long double>(from.den) * static_cast<long double>(to.den) /
                            static_cast<long double>(to.num);
  check(exact > -9e18L && exact < 9e18L, ErrorCode::bad_data, "time {} of a frame: cannot be written", ticks);
  return std::llroundl(exact);
}

} // namespace

ClipTimes::ClipTimes(const StreamInfo& stream, const Container* container, const std::string& codec)
    : source_(stream.time_base), from_zero_(container && container->steady) {
  const Rational rate = is_known(stream.average_rate) ? stream.average_rate : Rational{30, 1};
  base_ = base_for(source_, rate, container, codec);
  if (!is_known(source_)) source_ = base_;
  step_ = std::max<std::int64_t>(1, rescaled(1, {rate.den, rate.num}, source_));
}

// A time that does not grow begins a part whose clock is another one, and which follows the frame before. It
// lasts until the clip's own times are ahead again.
std::int64_t ClipTimes::on_one_line(std::int64_t pts) {
  if (last_ == no_pts) return pts == no_pts ? 0 : pts;
  const std::int64_t following = added(last_, length_ > 0 ? length_ : step_);
  if (pts == no_pts) return following;
  if (pts > last_) {
    shift_ = 0;
    return pts;
  }
  std::int64_t shifted = 0;
  if (!__builtin_add_overflow(pts, shift_, &shifted) && shifted > last_) return shifted;
  check(!__builtin_sub_overflow(following, pts, &shift_), ErrorCode::bad_data,
        "time {} of a frame behind {}: cannot be written", pts, last_);
  return following;
}

std::int64_t ClipTimes::length() const {
  return length_ > 0 ? rescaled(length_, source_, base_) : 0;
}

std::int64_t ClipTimes::next(std::int64_t pts, std::int64_t duration) {
  const std::int64_t time = on_one_line(pts);
  // What lies before 0, as in a transport stream whose clock wraps, no player of an MP4 shows.
  if (last_ == no_pts && (from_zero_ || time < 0)) begin_ = time;
  last_ = time;
  length_ = duration;
  std::int64_t since = 0;
  check(!__builtin_sub_overflow(time, begin_, &since), ErrorCode::bad_data,
        "time {} of a frame: cannot be written", time);
  std::int64_t tick = rescaled(since, source_, base_);
  if (written_ != no_pts && tick <= written_) tick = added(written_, 1);
  written_ = tick;
  return tick;
}

} // namespace lanner::tool
