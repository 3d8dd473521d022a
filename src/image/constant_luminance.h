#pragma once
// BT.2020's constant luminance (H.273, MatrixCoefficients 10): luma is made of linear light, so that no
// matrix leads back to R'G'B'.

#include <lanner/image.h>

namespace lanner {

/// Whether `image` is stored so.
bool has_constant_luminance(const Image& image) noexcept;

/// The same picture as rgb48, opaque, or rgba64 with its alpha. Throws Error{unsupported} for one on a GPU.
Image without_constant_luminance(const Image& image, int threads);

} // namespace lanner
