#pragma once
// Uncompressed video in AVI and QuickTime files.

#include <string>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// These containers say nothing of pixels but a four-character code, which many formats have none of: they
/// would be read back as other pixels. Throws Error{unsupported} for such a format of rawvideo, naming those
/// that are kept. `container`: FFmpeg's name.
void check_raw_pixels(const std::string& path, const std::string& container,
                      const AVCodecParameters& parameters);

} // namespace lanner::ffmpeg
