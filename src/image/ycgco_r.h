#pragma once
// YCgCo-R (H.273, MatrixCoefficients 16 and 17, by Malvar and Sullivan): R, G and B of integers, stored
// without a loss in one or two bits more.

#include <optional>

#include <lanner/image.h>

namespace lanner {

/// The same picture as gbrp of the depth that it was made of, exactly; nothing for images that are not stored
/// so, and for those that no exact result is known of: on a GPU, with alpha, subsampled, of limited range, or
/// of a depth that no format of RGB has.
std::optional<Image> without_ycgco_r(const Image& image);

} // namespace lanner
