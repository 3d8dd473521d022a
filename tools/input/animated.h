#pragma once
// Picture files that hold several pictures.

#include <lanner/source.h>

namespace lanner::tool {

/// Whether the source is a GIF of several pictures, or a PNG with an animation (APNG: a chunk acTL of more
/// than one frame, PNG 3rd edition 11.3.6). It gives its first bytes again.
bool is_animated(ByteSource& source);

} // namespace lanner::tool
