#include "tasks/draw/blend.h"

#include <algorithm>
#include <cmath>

namespace lanner {
namespace {

constexpr int block_pixels = 16, block_bytes = 3 * block_pixels;
constexpr int fully_covered = 255;

std::uint8_t byte_of(float value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.f, 255.f)));
}

} // namespace

int share_of(float opacity) {
  return opacity > 0 ? static_cast<int>(std::lround(std::min(opacity, 1.f) * whole_share)) : 0;
}

PixelColor::PixelColor(Color color)
    : red(byte_of(color.red)), green(byte_of(color.green)), blue(byte_of(color.blue)) {}

void blend_pixel(std::byte* rgb, PixelColor color, int share) {
  const int keep = whole_share - share;
  const int parts[3] = {color.red, color.green, color.blue};
  for (int c = 0; c < 3; ++c)
    rgb[c] = static_cast<std::byte>((std::to_integer<int>(rgb[c]) * keep + parts[c] * share + 128) >> 8);
}

// Sixteen pixels at a time: three vectors of sixteen bytes hold the repeated colour.
void blend_span(std::byte* rgb, std::int64_t count, PixelColor color, int share) {
  if (share <= 0) return;
  const auto keep = static_cast<std::uint16_t>(whole_share - share);
  std::uint16_t added[block_bytes];
  for (int i = 0; i < block_bytes; i += 3) {
    added[i] = static_cast<std::uint16_t>(color.red * share + 128);
    added[i + 1] = static_cast<std::uint16_t>(color.green * share + 128);
    added[i + 2] = static_cast<std::uint16_t>(color.blue * share + 128);
  }
  auto* bytes = reinterpret_cast<std::uint8_t*>(rgb);
  for (; count >= block_pixels; count -= block_pixels, bytes += block_bytes) {
#pragma omp simd
    for (int i = 0; i < block_bytes; ++i)
      bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint16_t>(bytes[i] * keep + added[i]) >> 8);
  }
  for (std::int64_t i = 0; i < count * 3; ++i)
    bytes[i] = static_cast<std::uint8_t>((bytes[i] * keep + added[i]) >> 8);
}

void blend_row(std::byte* rgb, const std::uint8_t* coverage, std::int64_t count, PixelColor color,
               int share) {
  for (std::int64_t x = 0; x < count;) {
    const int covered = coverage[x];
    if (covered != 0 && covered != fully_covered) {
      blend_pixel(rgb + 3 * x, color, covered_share(covered, share));
      ++x;
      continue;
    }
    const std::int64_t start = x;
    while (x < count && coverage[x] == covered) ++x;
    if (covered == fully_covered) blend_span(rgb + 3 * start, x - start, color, share);
  }
}

} // namespace lanner
