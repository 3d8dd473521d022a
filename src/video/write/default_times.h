#pragma once
// Times of pictures that come without one.

#include <cstdint>
#include <optional>

#include <lanner/packet.h>

namespace lanner {

/// Each a frame after the picture before. Frames are counted from the last picture with a time of its own, or
/// from a change of the rate, so that the roundings to ticks do not add up.
class DefaultTimes {
public:
  /// From the last picture on frames follow at `rate` a second; times are in ticks of `time_base`.
  void set_rate(const Rational& rate, const Rational& time_base);
  /// When the next picture is shown; 0 for the first. Throws Error{invalid_argument} where frames are shorter
  /// than a tick.
  std::int64_t next() const;
  /// A picture is shown at `pts`.
  void take(std::int64_t pts);
  /// Ticks of a frame, rounded, at least 1.
  std::int64_t step() const;

private:
  std::optional<std::int64_t> following() const;
  bool shorter_than_a_tick() const;

  Rational rate_{30, 1}, base_{1, 30};
  std::int64_t last_ = no_pts;               ///< The time of the last picture.
  std::int64_t anchor_ = no_pts, count_ = 0; ///< A time, and the frames since.
};

} // namespace lanner
