#pragma once
// Damage that decoding met, and where.

#include <string>
#include <utility>

#include <lanner/error.h>
#include <lanner/packet.h>

namespace lanner {

/// What a decoder that is to raise on damage throws. Readers know their frames' numbers and times, and put
/// these in front of what the decoder says.
class DamagedPicture final : public Error {
public:
  /// `who`: `decode: h264`. `pts`: of the picture, as it was given to the decoder; no_pts where it is not
  /// known which one is damaged.
  DamagedPicture(std::string who, std::int64_t pts)
      : Error(ErrorCode::bad_data, fmt::format("{}: the picture at pts {} is damaged", who, pts)), pts_(pts),
        reason_(std::move(who) + ": the picture is damaged") {}
  /// With a reason of its own, of a picture that is not known.
  explicit DamagedPicture(std::string reason)
      : Error(ErrorCode::bad_data, reason), pts_(no_pts), reason_(std::move(reason)) {}

  /// The same with the time that the container has for that picture.
  DamagedPicture(const DamagedPicture& damage, std::int64_t shown_at) : DamagedPicture(damage) {
    shown_at_ = shown_at;
  }

  std::int64_t pts() const noexcept { return pts_; }
  std::int64_t shown_at() const noexcept { return shown_at_; } ///< Ticks, no_pts where it is not known.
  /// The message without the time.
  const std::string& reason() const noexcept { return reason_; }

private:
  std::int64_t pts_, shown_at_ = no_pts;
  std::string reason_;
};

} // namespace lanner
