#pragma once
// Convolutions as products of matrices whose rows are positions of channels-last images.

#include <cstdint>
#include <optional>

#include <lanner/layout.h>
#include <lanner/shape.h>

#include "backends/product/matrix_source.h"
#include "ops/convolution/window.h"

namespace lanner::cuda {

/// Channels last.
Layout pixels_layout(const Shape& shape);

/// Whether pixels are evenly spaced even where the value's channels are part of a larger value: one-channel
/// images are not, since they are stored as row-major.
bool takes_channel_slices(const Shape& shape);

/// Whether kernels may count elements, and places within images, in 31 bits.
bool counts_in_31_bits(const Shape& input, const Shape& filter, const Shape& output,
                       const ops::Window& window);

/// The window of a convolution with one or two spatial axes. `channels`: of a group; `pixel`: elements
/// between pixels.
MatrixWindow matrix_window(const ops::Window& window, std::int64_t channels, std::int64_t pixel);

/// Whether each position reads only the pixel at the same position (1x1), so that images are rows of a
/// matrix.
bool reads_own_pixel(const MatrixWindow& window);

} // namespace lanner::cuda
