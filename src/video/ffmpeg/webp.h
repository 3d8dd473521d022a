#pragma once
// WebP files, of which FFmpeg decodes the still ones.

#include <cstddef>
#include <span>
#include <string_view>

namespace lanner::ffmpeg {

/// Whether the file has several pictures: the animation flag of its extended header (RFC 9649, 2.7).
inline bool is_animated_webp(std::span<const std::byte> bytes) {
  constexpr std::size_t flags = 20;
  constexpr unsigned animation = 2;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.size() > flags && text.starts_with("RIFF") && text.substr(8, 8) == "WEBPVP8X" &&
         (std::to_integer<unsigned>(bytes[flags]) & animation) != 0;
}

} // namespace lanner::ffmpeg
