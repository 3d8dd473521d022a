#pragma once
// When the frames of a clip that is written again are shown.

#include <cstdint>
#include <string>

#include <lanner/packet.h>

#include "input/containers.h"

namespace lanner::tool {

/// Turns the times of a clip's frames into those of a file that is written: they grow, they go on where the
/// clip's own begin anew (files that were joined), and they are counted in ticks that codec and container
/// can hold.
class ClipTimes {
public:
  /// `container` is null where it is none of those that are known; `codec` is EncoderOptions::codec.
  ClipTimes(const StreamInfo& stream, const Container* container, const std::string& codec);

  /// The ticks that next() counts in.
  Rational time_base() const { return base_; }
  /// The time of the next frame, which the clip shows at `pts` for `duration` (its own ticks; no_pts and 0
  /// where it does not say). Throws Error{bad_data} for times that no file can hold.
  std::int64_t next(std::int64_t pts, std::int64_t duration);
  /// For how many ticks the frame of the last next() is shown; 0 where the clip does not say.
  std::int64_t length() const;

private:
  std::int64_t on_one_line(std::int64_t pts);

  Rational source_, base_;
  std::int64_t step_ = 1;                   ///< Of a frame without a duration, in the clip's ticks.
  std::int64_t begin_ = 0;                  ///< Where the file's times begin in those of the clip.
  bool from_zero_ = false;                  ///< The container cannot begin later.
  std::int64_t last_ = no_pts, length_ = 0; ///< Of the frame before, in the clip's ticks.
  std::int64_t shift_ = 0;                  ///< Of the part that is being read.
  std::int64_t written_ = no_pts;           ///< The last time that was given.
};

} // namespace lanner::tool
