#include <lanner/video_reader.h>

#include <lanner/error.h>
#include <lanner/source.h>

#include "fuzz/targets.h"

namespace lanner::fuzz {

/// A container file: reads its packets, its index, and its first and last frames with one thread.
void read_clip(std::span<const std::byte> input) {
  VideoReaderOptions options;
  options.demuxer.limits = small_limits();
  options.demuxer.limits.pixels = 1 << 18;
  options.demuxer.limits.frames = 1 << 12;
  options.decoder.limits = options.demuxer.limits;
  options.decoder.threads = 1;
  options.cache_index = false;
  VideoReader reader(open_bytes(input), options);
  const std::int64_t size = reader.size();
  for (const std::int64_t i : {std::int64_t{0}, size - 1}) {
    if (i >= 0 && i < size) reader.at(i);
  }
}

} // namespace lanner::fuzz
