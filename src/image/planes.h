#pragma once
// What follows from an image's format and size.

#include <cstdint>

#include <lanner/image.h>

namespace lanner {

/// Sets each plane's width and height, and its pitch to whole multiples of `alignment` bytes.
void shape_planes(Image& image, std::int64_t alignment);

/// Bytes of a plane's row that hold samples.
std::int64_t row_bytes(const Image& image, int plane);

/// Where an image's opacity lies: in a plane of its own, or among the colours.
struct Alpha {
  Plane plane;             ///< No data: opaque.
  int bytes = 1, step = 1; ///< Of a sample; samples from one to the next.
  unsigned top = 255;      ///< Opaque.

  /// Of pixel `x` of the row at `row`, in 0..255.
  unsigned at(const std::byte* row, std::int64_t x) const noexcept {
    if (bytes == 1) return static_cast<unsigned>(row[x * step]);
    return (reinterpret_cast<const std::uint16_t*>(row)[x * step] * 255u + top / 2) / top;
  }
};
Alpha alpha_of(const Image& image) noexcept;

/// Gives the image a plane of opacity, not yet filled, where it lies.
void allocate_alpha(Image& image);

} // namespace lanner
