#include "video/write/default_times.h"

#include <algorithm>

#include "base/check.h"
#include "video/write/clip_times.h"

namespace lanner {

void DefaultTimes::set_rate(const Rational& rate, const Rational& time_base) {
  rate_ = rate;
  base_ = time_base;
  anchor_ = last_;
  count_ = 0;
}

bool DefaultTimes::shorter_than_a_tick() const {
  return static_cast<__int128>(rate_.den) * base_.den < static_cast<__int128>(rate_.num) * base_.num;
}

/// Nothing beyond 64 bits.
std::optional<std::int64_t> DefaultTimes::following() const {
  std::int64_t time = 0;
  const std::int64_t since = rescaled(count_ + 1, {rate_.den, rate_.num}, base_);
  if (__builtin_add_overflow(anchor_, since, &time)) return std::nullopt;
  return time;
}

std::int64_t DefaultTimes::next() const {
  if (last_ == no_pts) return 0;
  check(!shorter_than_a_tick(), ErrorCode::invalid_argument,
        "encode: a picture without a pts at {}/{} frames a second, each shorter than a tick of {}/{} s; give "
        "it a pts, or the encoder a finer time_base",
        rate_.num, rate_.den, base_.num, base_.den);
  const std::optional<std::int64_t> time = following();
  check(time.has_value(), ErrorCode::invalid_argument, "encode: a picture without a pts after pts {}", last_);
  return *time;
}

void DefaultTimes::take(std::int64_t pts) {
  const bool counted = last_ != no_pts && following() == pts;
  count_ = counted ? count_ + 1 : 0;
  if (!counted) anchor_ = pts;
  last_ = pts;
}

std::int64_t DefaultTimes::step() const {
  return std::max<std::int64_t>(1, rescaled(1, {rate_.den, rate_.num}, base_));
}

} // namespace lanner
