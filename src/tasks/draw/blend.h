#pragma once
// Blends colours over pixels of rgb24.

#include <cstddef>
#include <cstdint>

#include "tasks/draw/palette.h"

namespace lanner {

/// Opacity of a colour in a pixel: 0 leaves it, 256 replaces it.
inline constexpr int whole_share = 256;
/// 0..1 as an opacity; NaN is 0.
int share_of(float opacity);

/// A colour as bytes.
struct PixelColor {
  std::uint8_t red, green, blue;
  explicit PixelColor(Color color);
  PixelColor(std::uint8_t r, std::uint8_t g, std::uint8_t b) : red(r), green(g), blue(b) {}
};

/// One pixel.
void blend_pixel(std::byte* rgb, PixelColor color, int share);
/// A coverage (0..255) times an opacity.
inline int covered_share(int coverage, int share) {
  return (coverage * share + 127) / 255;
}
/// `count` pixels from `rgb` on, all with one opacity.
void blend_span(std::byte* rgb, std::int64_t count, PixelColor color, int share);
/// Each with its own opacity: its coverage (0..255) times `share`.
void blend_row(std::byte* rgb, const std::uint8_t* coverage, std::int64_t count, PixelColor color, int share);

} // namespace lanner
