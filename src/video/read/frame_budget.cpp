#include "video/read/frame_budget.h"

#include <unistd.h>

#include <algorithm>

#include <lanner/image.h>

namespace lanner {

std::uint64_t picture_bytes(const StreamInfo& stream) {
  const PixelFormatInfo& facts = format_info(stream.format);
  std::uint64_t bytes = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(plane_count(stream.format)); ++p) {
    const bool chroma = p > 0 && p < facts.planes && facts.yuv;
    const int across = chroma ? facts.chroma_x : 0, down = chroma ? facts.chroma_y : 0;
    const auto width = static_cast<std::uint64_t>(std::max(0, stream.width)) >> across;
    const auto height = static_cast<std::uint64_t>(std::max(0, stream.height)) >> down;
    bytes += width * height * facts.samples[p] * facts.bytes_per_sample;
  }
  return bytes;
}

std::uint64_t budget_of_frames(const Limits& limits) {
  constexpr std::uint64_t least = 256ull << 20, most = 4ull << 30;
  const auto pages = static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES)));
  const auto page = static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PAGESIZE)));
  return std::min(limits.total_bytes / 6, std::clamp<std::uint64_t>(pages * page / 8, least, most));
}

int fitting(std::uint64_t budget, std::uint64_t each, int most) {
  if (each == 0) return most;
  return static_cast<int>(std::clamp<std::uint64_t>(budget / each, 1, static_cast<std::uint64_t>(most)));
}

} // namespace lanner
