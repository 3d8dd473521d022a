#pragma once
// How fast a clip decodes.

#include <string>

namespace lanner::tool {

struct ClipBench {
  std::string path, device, format;
  int threads = 0, decoders = 0;
  double seconds = 3; ///< At most.
  bool json = false;
};

/// Decodes and tells.
void bench_clip(const ClipBench& options);

} // namespace lanner::tool
