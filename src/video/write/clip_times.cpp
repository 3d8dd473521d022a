#include "video/write/clip_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace lanner {

namespace {

constexpr std::int64_t mpeg4_ticks = 65535; // ISO/IEC 14496-2, vop_time_increment_resolution.
constexpr std::int64_t most_notes = 3;

bool is_known(const Rational& value) {
  return value.num > 0 && value.den > 0;
}

Rational base_for(const Rational& source, const ClipTimes::Target& target) {
  const Rational& rate = target.rate;
  const std::string& codec = target.codec;
  if (target.format == "gif") return {1, 100};
  if (target.format == "webp") return {1, 1000};
  const bool counts_frames = codec == "mpeg2" || codec == "mpeg2video" || codec == "mpeg1video";
  if (counts_frames || is_steady(target.format) || !is_known(source)) return {rate.den, rate.num};
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

std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  check(!__builtin_sub_overflow(a, b, &result), ErrorCode::bad_data, "time {} of a frame: cannot be written",
        a);
  return result;
}

} // namespace

std::int64_t rescaled(std::int64_t ticks, const Rational& from, const Rational& to) {
  if (from == to) return ticks;
  const long double exact = static_cast<long double>(ticks) * static_cast<long double>(from.num) /
                            static_cast<long double>(from.den) * static_cast<long double>(to.den) /
                            static_cast<long double>(to.num);
  check(exact > -9e18L && exact < 9e18L, ErrorCode::bad_data, "time {} of a frame: cannot be written", ticks);
  return std::llroundl(exact);
}

bool is_steady(std::string_view format) noexcept {
  constexpr std::string_view steady[] = {"avi", "mjpeg", "h264", "hevc", "yuv4mpegpipe", "m4v", "mpeg2video"};
  return std::ranges::find(steady, format) != std::end(steady);
}

ClipTimes::ClipTimes(Rational source, Target target, NoteCallback note)
    : source_(source), target_(std::move(target)), note_(std::move(note)) {
  if (!is_known(target_.rate)) target_.rate = {30, 1};
  base_ = base_for(source_, target_);
  if (!is_known(source_)) source_ = base_;
  step_ = std::max<std::int64_t>(1, rescaled(1, {target_.rate.den, target_.rate.num}, source_));
}

bool ClipTimes::fits(std::int64_t pts) const noexcept {
  if (last_ == no_pts || pts == no_pts || pts > last_) return true;
  std::int64_t shifted = 0;
  return !__builtin_add_overflow(pts, shift_, &shifted) && shifted > last_;
}

void ClipTimes::tell(std::int64_t pts, std::int64_t time, const char* why) {
  if (++moves_ > most_notes || !note_) return;
  note_(fmt::format("frame {}: its timestamp {:.3f} s is not after {:.3f} s; it is shown at {:.3f} s{}",
                    frames_, seconds_of(pts, source_), seconds_of(last_, source_),
                    seconds_of(difference(time, begin_), source_), why));
}

void ClipTimes::finish() const {
  if (moves_ > most_notes && note_)
    note_(fmt::format("{} timestamps in all were not after the previous one", moves_));
}

/// A time that does not follow: alone, it is laid between its neighbours; else a clock begins anew behind the
/// frame before, until the clip's own times are ahead again.
std::int64_t ClipTimes::moved(std::int64_t pts, std::int64_t following) {
  const std::int64_t behind = added(last_, length_ > 0 ? length_ : step_);
  if (following != no_pts && following > last_) {
    const std::int64_t time =
        std::min(behind, added(last_, std::max<std::int64_t>(1, difference(following, last_) / 2)));
    tell(pts, time, "");
    return time;
  }
  shift_ = difference(behind, pts);
  tell(pts, behind, "; the frames after it are shifted with it");
  return behind;
}

std::int64_t ClipTimes::placed(std::int64_t pts, std::int64_t following) {
  if (last_ == no_pts) return pts == no_pts ? 0 : pts;
  if (pts == no_pts) return added(last_, length_ > 0 ? length_ : step_);
  if (pts > last_) {
    shift_ = 0;
    return pts;
  }
  return fits(pts) ? pts + shift_ : moved(pts, following);
}

void ClipTimes::set_begin(std::int64_t first) {
  if (target_.begin) {
    const double ticks = *target_.begin * static_cast<double>(source_.den) / static_cast<double>(source_.num);
    check(std::abs(ticks) < 9e18, ErrorCode::invalid_argument, "begin of {} s: cannot be written",
          *target_.begin);
    begin_ = std::llround(ticks);
    return;
  }
  if (first >= 0 && !is_steady(target_.format) && !is_animation(target_.format)) return;
  begin_ = first;
  // What lies before 0, as in a transport stream whose clock wraps, no player of an MP4 shows.
  if (first < 0 && note_)
    note_(fmt::format("timestamps begin at {:.3f} s; they are shifted to begin at 0",
                      seconds_of(first, source_)));
}

std::int64_t ClipTimes::next(std::int64_t pts, std::int64_t duration, std::int64_t following) {
  const bool first = last_ == no_pts;
  const std::int64_t time = placed(pts, following);
  if (first) set_begin(time);
  last_ = time;
  length_ = duration;
  ++frames_;
  // Of a part, the frame on the screen at its begin may have come before.
  const std::int64_t hidden = target_.begin ? std::max<std::int64_t>(0, difference(begin_, time)) : 0;
  const std::int64_t since = hidden > 0 ? 0 : difference(time, begin_);
  shown_ = length_ > hidden ? length_ - hidden : std::min<std::int64_t>(length_, 1);
  std::int64_t tick = rescaled(since, source_, base_);
  if (written_ != no_pts && tick <= written_) tick = added(written_, 1);
  written_ = tick;
  return tick;
}

std::int64_t ClipTimes::length() const {
  constexpr std::int64_t most = std::int64_t{1} << 50; // Sums with timestamps stay within 64 bits.
  return shown_ > 0 ? std::clamp<std::int64_t>(rescaled(shown_, source_, base_), 1, most) : 0;
}

} // namespace lanner
