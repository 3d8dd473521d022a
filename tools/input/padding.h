#pragma once
// Pads images to even sizes.

#include <lanner/image.h>

namespace lanner::tool {

/// The image with its last column and row repeated where width or height is odd, as pixel formats with halved
/// chroma require even sizes.
Image padded_even(const Image& image);

} // namespace lanner::tool
