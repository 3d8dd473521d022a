#pragma once
// Pictures that are stored rotated or mirrored.

#include <cstdint>

#include <lanner/image.h>

namespace lanner {

/// How to get from the stored picture to the displayed one: mirror left to right first, then rotate
/// clockwise.
struct Orientation {
  bool mirror = false;
  int quarter_turns = 0; ///< 0 to 3, clockwise.
  friend bool operator==(const Orientation&, const Orientation&) = default;
};

/// From a display matrix (ISO/IEC 14496-12, 8.2.2.1: nine numbers in 16.16 and 2.30), null for none.
/// Rotations other than quarter turns are ignored.
Orientation orientation_of(const std::int32_t* display_matrix) noexcept;

/// The picture as displayed: `image` itself when there is nothing to do, else a new image of the same depth,
/// with its alpha: RGB of RGB, gray of gray, 4:4:4 of YUV. On a GPU the rules of copy_image() for `stream`
/// hold.
Image oriented(const Image& image, Orientation orientation, Stream stream = {});

} // namespace lanner
