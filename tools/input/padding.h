#pragma once
// Pictures of even sizes.

#include <lanner/image.h>

namespace lanner::tool {

/// The picture with its last column and row repeated where their number is odd: what pixel formats with
/// halved chroma ask for.
Image padded_even(const Image& image);

} // namespace lanner::tool
