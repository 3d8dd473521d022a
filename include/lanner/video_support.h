#pragma once
// Video formats that this machine can read and write.

#include <string>
#include <vector>

namespace lanner {

/// What the linked FFmpeg can do, for `lanner doctor`. Empty lists when the module is missing.
struct VideoSupport {
  bool available = false;
  std::string path, version, reason; ///< Path of the module, FFmpeg's version, or why it is missing.
  std::vector<std::string> decoders, encoders, demuxers, muxers;
};
VideoSupport video_support();

} // namespace lanner
