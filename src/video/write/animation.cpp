#include "video/write/animation.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <lanner/video_writer.h>

namespace lanner {
namespace {

constexpr double most_rate_of_gif = 50; // Most players show what is shorter than 20 ms for 100 ms.

bool has_alpha(const Image& image) {
  return image.format == PixelFormat::rgba32 || image.format == PixelFormat::bgra32 ||
         image.alpha.data != nullptr;
}

std::uint32_t little_endian(std::span<const std::byte> bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = count; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

bool is_chunk(std::span<const std::byte> bytes, std::size_t at, std::string_view name) {
  return std::ranges::equal(name, bytes.subspan(at, 4),
                            [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

/// Places of the durations of all frames, which are 24 bits each.
std::vector<std::size_t> duration_places(std::span<const std::byte> file) {
  constexpr std::size_t head = 12, of_chunk = 8, of_duration = 12;
  std::vector<std::size_t> places;
  if (file.size() < head || !is_chunk(file, 0, "RIFF") || !is_chunk(file, 8, "WEBP")) return places;
  for (std::size_t at = head; at + of_chunk <= file.size();) {
    const std::size_t size = little_endian(file, at + 4, 4), left = file.size() - at - of_chunk;
    if (size > left) break;
    if (is_chunk(file, at, "ANMF") && size >= of_duration + 4) places.push_back(at + of_chunk + of_duration);
    at += of_chunk + size + size % 2;
  }
  return places;
}

} // namespace

bool is_animation(std::string_view format) noexcept {
  return format == "gif" || format == "apng" || format == "webp";
}

PixelFormat animation_format(std::string_view container, const EncoderOptions& options, const Image& first) {
  const bool whole = options.tuning == Tuning::lossless; // Lossless WebP is of ARGB.
  if (whole && container == "webp") return PixelFormat::bgra32;
  if (!format_info(options.format).yuv) return options.format;
  if (container == "apng") return has_alpha(first) ? PixelFormat::rgba32 : PixelFormat::rgb24;
  return has_alpha(first) ? PixelFormat::bgra32 : options.format;
}

std::string animation_note(std::string_view container, double rate) {
  if (container != "gif" || rate <= most_rate_of_gif) return {};
  return fmt::format("{:.5g} frames a second: GIF counts in hundredths of a second, and most players show at "
                     "most {:g} of its frames a second",
                     rate, most_rate_of_gif);
}

Packet with_last_duration(Packet packet, std::int64_t milliseconds) {
  constexpr std::int64_t most = (1 << 24) - 1;
  const std::vector<std::size_t> places = duration_places(packet.bytes);
  if (places.empty()) return packet;
  for (std::size_t i = 0; i + 1 < places.size(); ++i)
    milliseconds -= little_endian(packet.bytes, places[i], 3);
  const auto last = static_cast<std::uint32_t>(std::clamp<std::int64_t>(milliseconds, 0, most));
  auto bytes = std::make_shared<std::vector<std::byte>>(packet.bytes.begin(), packet.bytes.end());
  for (std::size_t i = 0; i < 3; ++i) (*bytes)[places.back() + i] = static_cast<std::byte>(last >> 8 * i);
  packet.bytes = *bytes;
  packet.owner = std::move(bytes);
  return packet;
}

} // namespace lanner
