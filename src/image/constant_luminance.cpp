#include "image/constant_luminance.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "device/parallel.h"
#include "image/convert_plan.h"
#include "image/planes.h"

namespace lanner {

namespace {

// BT.2020, Table 4: the transfer function of 12-bit systems.
constexpr double alpha = 1.09929682680944, beta = 0.018053968510807;

double linear(double coded) {
  const double size = std::abs(coded);
  const double light = size < 4.5 * beta ? size / 4.5 : std::pow((size + alpha - 1) / alpha, 1 / 0.45);
  return std::copysign(light, coded);
}

double coded(double light) {
  const double size = std::abs(light);
  const double value = size < beta ? 4.5 * size : alpha * std::pow(size, 0.45) - (alpha - 1);
  return std::copysign(value, light);
}

// BT.2020, Table 4: B'-Y' and R'-Y' per Cb and Cr, of negative and of positive ones.
constexpr double blue_below = 1.9404, blue_above = 1.5816, red_below = 1.7184, red_above = 0.9936;

/// Normal Y', Cb, Cr to R'G'B'.
void to_rgb(double y, double cb, double cr, double rgb[3]) {
  constexpr double red = 0.2627, blue = 0.0593, green = 1 - red - blue;
  rgb[2] = y + cb * (cb < 0 ? blue_below : blue_above);
  rgb[0] = y + cr * (cr < 0 ? red_below : red_above);
  rgb[1] = coded((linear(y) - red * linear(rgb[0]) - blue * linear(rgb[2])) / green);
}

class Rows {
public:
  Rows(const Image& from, const ColorInfo& color, const Sampling& sampling, Image& to)
      : from_(from), to_(to), sampler_(from, sampling, row_kernels()),
        memory_(static_cast<std::size_t>(from.width) * 3) {
    for (int c = 0; c < 3; ++c) {
      rows_[c] = memory_.data() + std::int64_t{c} * from.width;
      scales_[c] = sample_scale(from.format, color, c);
    }
  }

  void write(std::int64_t y) {
    sampler_.read(y, rows_);
    auto* out = reinterpret_cast<std::uint16_t*>(to_.planes[0].data + y * to_.planes[0].pitch);
    const int step = format_info(to_.format).samples[0];
    for (std::int64_t x = 0; x < from_.width; ++x, out += step) {
      double in[3], rgb[3];
      for (int c = 0; c < 3; ++c) in[c] = rows_[c][x] * scales_[c].scale + scales_[c].offset;
      to_rgb(in[0], in[1], in[2], rgb);
      for (int c = 0; c < 3; ++c)
        out[c] = static_cast<std::uint16_t>(std::clamp(rgb[c], 0.0, 1.0) * 65535 + 0.5);
    }
  }

private:
  const Image& from_;
  Image& to_;
  RowSampler sampler_;
  std::vector<float> memory_;
  float* rows_[3];
  SampleScale scales_[3];
};

} // namespace

bool has_constant_luminance(const Image& image) noexcept {
  return format_info(image.format).yuv && image.color.matrix == ColorMatrix::bt2020c;
}

Image without_constant_luminance(const Image& image, int threads) {
  check(image.device.is_host(), ErrorCode::unsupported,
        "convert: BT.2020's constant luminance on {}, which is converted on the host alone; read with "
        "device=\"cpu\"",
        image.device.to_string());
  const bool opaque = !format_info(image.format).has_alpha();
  Image rgb = Image::allocate(opaque ? PixelFormat::rgb48 : PixelFormat::rgba64, image.width, image.height);
  const ColorInfo color = resolved(image.color, image.format, image.height);
  const Sampling sampling = same_size(image, color);
  parallel_for(threads, 0, image.height, rows_at_once, [&](std::int64_t first, std::int64_t last) {
    Rows rows(image, color, sampling, rgb);
    for (std::int64_t y = first; y < last; ++y) rows.write(y);
  });
  copy_alpha(image, rgb);
  rgb.color = {ColorMatrix::rgb, ColorRange::full, ChromaSiting::unspecified, image.color.primaries,
               image.color.transfer};
  return rgb;
}

} // namespace lanner
