#pragma once
// What follows from an image's format and size.

#include <cstdint>

#include <lanner/image.h>

namespace lanner {

/// Sets each plane's width and height, and its pitch to whole multiples of `alignment` bytes.
void shape_planes(Image& image, std::int64_t alignment);

/// Bytes of a plane's row that hold samples.
std::int64_t row_bytes(const Image& image, int plane);

} // namespace lanner
