#include "video/write/last_picture.h"

#include <algorithm>
#include <iterator>

namespace lanner {

bool tells_last_duration(std::string_view format) noexcept {
  constexpr std::string_view all[] = {"mp4", "mov", "ipod", "matroska", "webm", "flv", "gif", "apng", "webp"};
  return std::ranges::find(all, format) != std::end(all);
}

void end_decoding_with(const ShownSpan& shown, Packet& last) {
  if (shown.first_dts == no_pts || shown.end == no_pts || last.dts == no_pts || last.pts >= shown.end) return;
  const std::int64_t lead = shown.first_pts - shown.first_dts;
  // Decoded later it does not end behind the last picture.
  last.dts = std::max(last.dts, last.pts - lead);
  last.duration = std::max<std::int64_t>(1, shown.end - lead - last.dts);
}

} // namespace lanner
