#include "image/ycgco_r.h"

#include <algorithm>
#include <iterator>

#include "image/matrix_codes.h"

namespace lanner {

namespace {

constexpr int even_code = 16, odd_code = 17; ///< YCgCo-Re, YCgCo-Ro.

/// Planes of G, B and R with so many bits.
std::optional<PixelFormat> planes_of(int bits) {
  constexpr PixelFormat formats[] = {PixelFormat::gbrp,   PixelFormat::gbrp9,  PixelFormat::gbrp10,
                                     PixelFormat::gbrp12, PixelFormat::gbrp14, PixelFormat::gbrp16};
  const auto* found =
      std::ranges::find_if(formats, [&](PixelFormat format) { return format_info(format).bits == bits; });
  return found == std::end(formats) ? std::nullopt : std::optional(*found);
}

std::optional<PixelFormat> format_of(const Image& image) {
  const PixelFormatInfo& facts = format_info(image.format);
  const int code = facts.yuv ? unnamed_code(image.color.matrix) : 0;
  if (code != even_code && code != odd_code) return std::nullopt;
  const bool whole = facts.planes == 3 && facts.chroma_x == 0 && facts.chroma_y == 0 && !facts.has_alpha();
  if (!whole || image.color.range != ColorRange::full || !image.device.is_host()) return std::nullopt;
  return planes_of(facts.bits - (code == even_code ? 2 : 1));
}

const std::uint16_t* row_of(const Image& image, int plane, std::int32_t y) {
  const Plane& from = image.planes[static_cast<std::size_t>(plane)];
  return reinterpret_cast<const std::uint16_t*>(from.data + y * from.pitch);
}

template<typename Sample>
void write_row(const Image& from, Image& to, std::int32_t y) {
  const PixelFormatInfo& facts = format_info(from.format);
  const int middle = 1 << (facts.bits - 1), top = (1 << format_info(to.format).bits) - 1;
  const std::uint16_t *luma = row_of(from, 0, y), *green = row_of(from, 1, y), *orange = row_of(from, 2, y);
  Sample* out[3]; // G, B, R
  for (std::size_t p = 0; p < 3; ++p)
    out[p] = reinterpret_cast<Sample*>(to.planes[p].data + y * to.planes[p].pitch);
  for (std::int32_t x = 0; x < from.width; ++x) {
    const int cg = (green[x] >> facts.shift) - middle, co = (orange[x] >> facts.shift) - middle;
    const int t = (luma[x] >> facts.shift) - (cg >> 1);
    const int b = std::clamp(t - (co >> 1), 0, top);
    out[0][x] = static_cast<Sample>(std::clamp(t + cg, 0, top));
    out[1][x] = static_cast<Sample>(b);
    out[2][x] = static_cast<Sample>(std::clamp(b + co, 0, top));
  }
}

} // namespace

std::optional<Image> without_ycgco_r(const Image& image) {
  const std::optional<PixelFormat> format = format_of(image);
  if (!format) return std::nullopt;
  Image result = Image::allocate(*format, image.width, image.height);
  result.color = image.color;
  result.color.matrix = ColorMatrix::rgb;
  const bool bytes = format_info(*format).bytes_per_sample == 1;
  for (std::int32_t y = 0; y < image.height; ++y)
    bytes ? write_row<std::uint8_t>(image, result, y) : write_row<std::uint16_t>(image, result, y);
  return result;
}

} // namespace lanner
