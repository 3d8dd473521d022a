#pragma once
// Plane sizes and alpha, derived from an image's format and size.

#include <cstdint>

#include <lanner/image.h>

namespace lanner {

/// Sets each plane's width and height, and its pitch to whole multiples of `alignment` bytes.
void shape_planes(Image& image, std::int64_t alignment);

/// Bytes of a plane's row that hold samples.
std::int64_t row_bytes(const Image& image, int plane);

/// Where an image's opacity is: in a plane of its own, or interleaved with the colours.
struct Alpha {
  Plane plane;             ///< No data: opaque.
  int bytes = 1, step = 1; ///< Bytes per sample; samples from one to the next.
  unsigned top = 255;      ///< The value of opaque.

  /// Opacity of pixel `x` of the row at `row`, in 0..255.
  unsigned at(const std::byte* row, std::int64_t x) const noexcept {
    if (bytes == 1) return static_cast<unsigned>(row[x * step]);
    return (reinterpret_cast<const std::uint16_t*>(row)[x * step] * 255u + top / 2) / top;
  }
};
Alpha alpha_of(const Image& image) noexcept;

/// Adds an uninitialised alpha plane to the image, on its device.
void allocate_alpha(Image& image);

} // namespace lanner
