#pragma once
// How fast a clip decodes.

#include <string>

#include "options/reader_options.h"

namespace lanner::tool {

struct ClipBench {
  std::string path;
  ReaderOptions reader; ///< Damage is no error.
  double seconds = 3;   ///< At most.
  bool json = false;
};

/// Decodes and tells.
void bench_clip(const ClipBench& options);

} // namespace lanner::tool
