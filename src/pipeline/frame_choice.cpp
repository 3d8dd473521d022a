#include "pipeline/frame_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

/// Number of skipped frames from which a pass over the packets pays.
constexpr double long_skip = 250;
/// Distance of wanted frames from which it pays as well: decoding may start in between.
constexpr double wide_step = 16;

/// Frames per second if the container has no rate, as FFmpeg assumes.
constexpr double assumed_rate = 25;

double rate_of(const StreamInfo& stream) {
  const double rate = stream.average_rate.to_double();
  return rate > 0 ? rate : assumed_rate;
}

void check_range(const FrameRange& range) {
  check(std::isfinite(range.start) && range.start >= 0, ErrorCode::invalid_argument,
        "range: start is {}, expected seconds from 0 on", range.start);
  check(range.end > range.start, ErrorCode::invalid_argument,
        "range: the end at {} s is not after the start at {} s", range.end, range.start);
  check(std::isfinite(range.rate) && range.rate >= 0, ErrorCode::invalid_argument,
        "range: rate is {}, expected frames a second, or 0 for all", range.rate);
  check(range.stride > 0, ErrorCode::invalid_argument, "range: stride is {}, expected 1 or more",
        range.stride);
}

bool is_whole(const FrameRange& range) {
  return range.start == 0 && std::isinf(range.end) && range.rate == 0 && range.stride == 1 && range.count < 0;
}

} // namespace

FrameChoice::FrameChoice(const FrameRange& range, const StreamInfo& stream)
    : range_(range), time_base_(stream.time_base), spacing_(1 / rate_of(stream)),
      tolerance_(std::max(1e-9, stream.time_base.to_double() / 2)), due_(range.start),
      over_(range.count == 0) {
  check_range(range);
}

double FrameChoice::seconds(std::int64_t index, std::int64_t pts) {
  if (pts == no_pts) return static_cast<double>(index) * spacing_;
  if (!first_) first_ = pts;
  return seconds_of(pts, time_base_) - seconds_of(*first_, time_base_);
}

bool FrameChoice::takes(std::int64_t index, std::int64_t pts) {
  const double now = seconds(index, pts) + tolerance_;
  over_ = over_ || now >= range_.end;
  if (over_ || now < range_.start) return false;
  if (range_.rate > 0) {
    if (now < due_) return false;
    due_ = range_.start + (std::floor((now - range_.start) * range_.rate) + 1) / range_.rate;
  }
  if (met_++ % range_.stride != 0) return false;
  over_ = ++taken_ == range_.count;
  return true;
}

ChosenFrames::ChosenFrames(VideoReader reader, const FrameRange& range)
    : reader_(std::move(reader)), range_(range), choice_(range, reader_.stream()), all_(is_whole(range)) {
  if (skips_much()) list_wanted();
}

bool ChosenFrames::skips_much() const {
  const double rate = rate_of(reader_.stream());
  const double step = static_cast<double>(range_.stride) * (range_.rate > 0 ? rate / range_.rate : 1);
  return range_.start * rate >= long_skip || step >= wide_step;
}

void ChosenFrames::list_wanted() {
  std::shared_ptr<const StreamIndex> index;
  try {
    index = reader_.index();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return; // It cannot seek: every frame is decoded.
  }
  FrameChoice choice = choice_;
  wanted_.emplace();
  for (std::size_t i = 0; i < index->frames.size() && !choice.over(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    if (choice.takes(number, index->frames[i].pts)) wanted_->push_back(number);
  }
}

std::optional<Frame> ChosenFrames::next_listed() {
  if (given_ == wanted_->size()) return std::nullopt;
  const std::int64_t number = (*wanted_)[given_++];
  const bool follows = given_ > 1 && (*wanted_)[given_ - 2] + 1 == number;
  return follows ? reader_.next() : std::optional(reader_.at(number));
}

std::optional<Frame> ChosenFrames::next() {
  if (wanted_) return next_listed();
  while (!choice_.over()) {
    std::optional<Frame> frame = reader_.next();
    if (!frame || all_ || choice_.takes(frame->index, frame->pts)) return frame;
  }
  return std::nullopt;
}

} // namespace lanner
