#pragma once
// Where a container says that a stream ends, apart from its packets.

#include <cstdint>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// When the last picture of a stream is no longer shown, in its ticks; no_pts where the container does not
/// say. Packets tell how far apart they are decoded (MP4) or the usual distance (Matroska).
std::int64_t stream_end(const AVFormatContext& context, const AVStream& stream);

} // namespace lanner::ffmpeg
