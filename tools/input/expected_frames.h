#pragma once
// How many frames a clip may have.

#include <lanner/video_reader.h>

namespace lanner::tool {

/// Frames that a reader may give, by the container; 0 when it does not say.
double expected_frames(const VideoReader& reader);

} // namespace lanner::tool
