#include "image/color.h"

namespace lanner {

namespace {

struct LumaWeights {
  double red, blue;
};

LumaWeights luma_weights(ColorMatrix matrix) noexcept {
  switch (matrix) {
  case ColorMatrix::bt709:
    return {0.2126, 0.0722};
  case ColorMatrix::bt2020:
    return {0.2627, 0.0593};
  case ColorMatrix::fcc:
    return {0.30, 0.11};
  case ColorMatrix::smpte240m:
    return {0.212, 0.087};
  default:
    return {0.299, 0.114};
  }
}

} // namespace

ColorInfo resolved(ColorInfo color, PixelFormat format, std::int32_t height) noexcept {
  const PixelFormatInfo& facts = format_info(format);
  if (!facts.yuv) {
    if (!facts.gray() || color.range == ColorRange::unspecified) color.range = ColorRange::full;
    color.matrix = ColorMatrix::rgb;
    return color;
  }
  if (color.matrix == ColorMatrix::unspecified || color.matrix == ColorMatrix::rgb)
    color.matrix = height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
  if (color.range == ColorRange::unspecified) color.range = ColorRange::limited;
  if (color.siting == ChromaSiting::unspecified) color.siting = ChromaSiting::left;
  return color;
}

SampleScale sample_scale(PixelFormat format, const ColorInfo& color, int component) noexcept {
  const PixelFormatInfo& facts = format_info(format);
  const double unit = 1 << facts.shift;
  const double top = (1 << facts.bits) - 1;
  const double step = 1 << (facts.bits - 8); // One 8-bit code in this depth.
  const bool chroma = facts.yuv && component > 0;
  double span = top, zero = chroma ? 128 * step : 0;
  if (color.range == ColorRange::limited) {
    // YCgCo is made of codes of R, G and B, with their span (H.273, MatrixCoefficients 8).
    span = (chroma && color.matrix != ColorMatrix::ycgco ? 224 : 219) * step;
    if (!chroma) zero = 16 * step;
  }
  return {1 / (span * unit), -zero / span, top * unit};
}

Matrix3 rgb_from_ycc(ColorMatrix matrix) noexcept {
  if (matrix == ColorMatrix::ycgco) return {{{1, -1, 1}, {1, 1, 0}, {1, -1, -1}}};
  const auto [red, blue] = luma_weights(matrix);
  const double green = 1 - red - blue;
  return {{{1, 0, 2 * (1 - red)},
           {1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green},
           {1, 2 * (1 - blue), 0}}};
}

Matrix3 ycc_from_rgb(ColorMatrix matrix) noexcept {
  if (matrix == ColorMatrix::ycgco) return {{{0.25, 0.5, 0.25}, {-0.25, 0.5, -0.25}, {0.5, 0, -0.5}}};
  const auto [red, blue] = luma_weights(matrix);
  const double green = 1 - red - blue;
  const double cb = 2 * (1 - blue), cr = 2 * (1 - red);
  return {{{red, green, blue},
           {-red / cb, -green / cb, (1 - blue) / cb},
           {(1 - red) / cr, -green / cr, -blue / cr}}};
}

Matrix3 product(const Matrix3& a, const Matrix3& b) noexcept {
  Matrix3 result{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) result[i][j] += a[i][k] * b[k][j];
  return result;
}

ChromaOffset chroma_offset(PixelFormat format, ChromaSiting siting) noexcept {
  const PixelFormatInfo& facts = format_info(format);
  // From the first pixel of a sample's to the last.
  const double last_x = (1 << facts.chroma_x) - 1, last_y = (1 << facts.chroma_y) - 1;
  switch (siting) {
  case ChromaSiting::unspecified:
  case ChromaSiting::left:
    break;
  case ChromaSiting::center:
    return {last_x / 2, last_y / 2};
  case ChromaSiting::top_left:
    return {0, 0};
  case ChromaSiting::top:
    return {last_x / 2, 0};
  case ChromaSiting::bottom_left:
    return {0, last_y};
  case ChromaSiting::bottom:
    return {last_x / 2, last_y};
  }
  return {0, last_y / 2};
}

namespace {

/// Positions of red, green and blue among the planes or samples.
std::array<int, 3> color_order(PixelFormat format) noexcept {
  switch (format) {
  case PixelFormat::bgr24:
  case PixelFormat::bgra32:
  case PixelFormat::bgr_planar:
  case PixelFormat::bgr48:
  case PixelFormat::bgra64:
    return {2, 1, 0};
  case PixelFormat::gbrp:
  case PixelFormat::gbrp9:
  case PixelFormat::gbrp10:
  case PixelFormat::gbrp12:
  case PixelFormat::gbrp14:
  case PixelFormat::gbrp16:
  case PixelFormat::gbrap:
  case PixelFormat::gbrap10:
  case PixelFormat::gbrap12:
  case PixelFormat::gbrap16:
    return {2, 0, 1};
  default:
    return {0, 1, 2};
  }
}

} // namespace

ComponentLayout component_layout(PixelFormat format, int component) noexcept {
  const PixelFormatInfo& facts = format_info(format);
  const int position = color_order(format)[static_cast<std::size_t>(component)];
  if (facts.planes == 3) return {position, 0, 1};
  if (facts.planes == 2)
    return component == 0 ? ComponentLayout{0, 0, 1} : ComponentLayout{1, component - 1, 2};
  return {0, facts.gray() ? 0 : position, facts.samples[0]};
}

} // namespace lanner
