#pragma once
// Decoding speed of a clip.

#include <string>

#include "options/reader_options.h"

namespace lanner::tool {

struct ClipBench {
  std::string path;
  ReaderOptions reader; ///< Damage in the clip is no error.
  double seconds = 3;   ///< Upper bound.
  bool json = false;
};

/// Decodes and prints the figures.
void bench_clip(const ClipBench& options);

} // namespace lanner::tool
