#pragma once
// What this machine reads and writes of video.

#include <string>
#include <vector>

namespace lanner {

/// What the linked FFmpeg can do, for `lanner doctor`. Empty lists when the module is missing.
struct VideoSupport {
  bool available = false;
  std::string path, version, reason; ///< Where the module lies, FFmpeg's version, why it is missing.
  std::vector<std::string> decoders, encoders, demuxers, muxers;
};
VideoSupport video_support();

} // namespace lanner
