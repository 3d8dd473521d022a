#pragma once
// Plane sizes and alpha, derived from an image's format and size.

#include <cstdint>

#include <lanner/image.h>

namespace lanner {

/// Sets each plane's width and height, and its pitch to whole multiples of `alignment` bytes.
void shape_planes(Image& image, std::int64_t alignment);

/// Where an image's opacity is: in a plane of its own, or interleaved with the colours.
struct Alpha {
  Plane plane;             ///< No data: opaque.
  int bytes = 1, step = 1; ///< Bytes per sample; samples from one to the next.
  unsigned top = 255;      ///< The value of opaque.
};
Alpha alpha_of(const Image& image) noexcept;

/// Gives `to` the opacity of `from`, an image of its size on the host, in its depth; opaque where that has
/// none. Nothing for a format without alpha.
void copy_alpha(const Image& from, Image& to);

} // namespace lanner
