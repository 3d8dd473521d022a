#pragma once
// Image files that hold several images.

#include <lanner/source.h>

namespace lanner::tool {

/// Whether the source is a GIF or WebP of several images, or a PNG with an animation (APNG: a chunk acTL of
/// more than one frame, PNG 3rd edition 11.3.6). It must give its first bytes again.
bool is_animated(ByteSource& source);

} // namespace lanner::tool
