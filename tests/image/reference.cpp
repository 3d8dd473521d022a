#include "image/reference.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>

namespace lanner::test {

namespace {

struct Weights {
  double r, g, b;
};

Weights luma(ColorMatrix matrix) {
  switch (matrix) {
  case ColorMatrix::bt709:
    return {0.2126, 0.7152, 0.0722};
  case ColorMatrix::bt2020:
    return {0.2627, 0.6780, 0.0593};
  case ColorMatrix::fcc:
    return {0.30, 0.59, 0.11};
  case ColorMatrix::smpte240m:
    return {0.212, 0.701, 0.087};
  default:
    return {0.299, 0.587, 0.114};
  }
}

ColorMatrix matrix_of(const Image& image) {
  if (image.color.matrix != ColorMatrix::unspecified) return image.color.matrix;
  return image.height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
}

std::array<double, 3> to_rgb(const Image& image, const std::array<double, 3>& code) {
  const PixelFormatInfo& facts = format_info(image.format);
  const double top = std::pow(2, facts.bits) - 1, unit = std::pow(2, facts.bits - 8);
  if (!facts.yuv) return {code[0] / top, code[1] / top, code[2] / top};
  const bool full = image.color.range == ColorRange::full;
  const double y = full ? code[0] / top : (code[0] - 16 * unit) / (219 * unit);
  const double span = full ? top : 224 * unit;
  const double cb = (code[1] - 128 * unit) / span, cr = (code[2] - 128 * unit) / span;
  const Weights k = luma(matrix_of(image));
  const double r = y + 2 * (1 - k.r) * cr, b = y + 2 * (1 - k.b) * cb;
  return {r, (y - k.r * r - k.b * b) / k.g, b};
}

// Luma coordinate of the first chroma sample.
std::pair<double, double> siting(const Image& image) {
  const PixelFormatInfo& facts = format_info(image.format);
  const double last_x = std::pow(2, facts.chroma_x) - 1, last_y = std::pow(2, facts.chroma_y) - 1;
  switch (image.color.siting) {
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
  default:
    return {0, last_y / 2};
  }
}

double kernel(Resize kind, double step, double distance) {
  const double d = std::abs(distance);
  switch (kind) {
  case Resize::bilinear:
    return std::max(0.0, 1 - d);
  case Resize::antialias:
    return std::max(0.0, 1 - d / std::max(1.0, step));
  case Resize::antialias_cubic: {
    const double t = d / std::max(1.0, step);
    if (t < 1) return 1.5 * t * t * t - 2.5 * t * t + 1;
    return t < 2 ? -0.5 * t * t * t + 2.5 * t * t - 4 * t + 2 : 0;
  }
  case Resize::antialias_lanczos: {
    const double t = d / std::max(1.0, step) * 3.14159265358979323846;
    if (t == 0) return 1;
    return t < 3 * 3.14159265358979323846 ? 3 * std::sin(t) * std::sin(t / 3) / (t * t) : 0;
  }
  case Resize::bicubic:
    if (d < 1) return 1.25 * d * d * d - 2.25 * d * d + 1;
    return d < 2 ? -0.75 * d * d * d + 3.75 * d * d - 6 * d + 3 : 0;
  case Resize::area:
    return std::max(0.0, std::min(distance + 0.5, step / 2) - std::max(distance - 0.5, -step / 2));
  default:
    return 0;
  }
}

// One component around a point, both axes at once.
double resampled(const Image& image, int component, Resize kind, double x, double y, double step_x,
                 double step_y) {
  const PixelFormatInfo& facts = format_info(image.format);
  const bool chroma = facts.yuv && component > 0;
  const Plane& plane = image.planes[chroma ? 1 : 0];
  const bool ends =
      kind == Resize::antialias || kind == Resize::antialias_cubic || kind == Resize::antialias_lanczos;
  const double reach_x = 3 * std::max(1.0, step_x) + 1, reach_y = 3 * std::max(1.0, step_y) + 1;
  double sum = 0, weights = 0;
  for (auto j = static_cast<std::int64_t>(std::floor(y - reach_y)); static_cast<double>(j) <= y + reach_y;
       ++j)
    for (auto i = static_cast<std::int64_t>(std::floor(x - reach_x)); static_cast<double>(i) <= x + reach_x;
         ++i) {
      const bool inside = i >= 0 && j >= 0 && i < plane.width && j < plane.height;
      if (ends && !inside) continue;
      const double weight =
          kernel(kind, step_x, static_cast<double>(i) - x) * kernel(kind, step_y, static_cast<double>(j) - y);
      sum += weight * sample_at(image, component, i, j);
      weights += weight;
    }
  return sum / weights;
}

} // namespace

Image random_image(PixelFormat format, std::int32_t width, std::int32_t height, unsigned seed) {
  Image image = Image::allocate(format, width, height);
  const PixelFormatInfo& facts = format_info(format);
  std::mt19937 random(seed);
  for (int p = 0; p < plane_count(format); ++p) {
    const Plane& plane = plane_at(image, p);
    for (std::int32_t y = 0; y < plane.height; ++y) {
      std::byte* row = plane.data + y * plane.pitch;
      for (std::int32_t i = 0; i < plane.width * facts.samples[static_cast<std::size_t>(p)]; ++i) {
        const auto code = static_cast<unsigned>(random() >> (32 - facts.bits));
        if (facts.bytes_per_sample == 1)
          row[i] = static_cast<std::byte>(code);
        else
          reinterpret_cast<std::uint16_t*>(row)[i] = static_cast<std::uint16_t>(code << facts.shift);
      }
    }
  }
  return image;
}

double sample_at(const Image& image, int component, std::int64_t x, std::int64_t y) {
  const PixelFormatInfo& facts = format_info(image.format);
  const std::string_view name = facts.name;
  if (name.starts_with("bgr"))
    component = 2 - component;
  else if (name.starts_with("gbr"))
    component = (component + 2) % 3;
  if (name.starts_with("ya")) component = 0;
  const int p = facts.planes == 1 ? 0 : facts.planes == 2 ? std::min(component, 1) : component;
  const Plane& plane = image.planes[p];
  const int step = facts.samples[p];
  const int first = step == 1 ? 0 : facts.planes == 2 ? component - 1 : component;
  x = std::clamp<std::int64_t>(x, 0, plane.width - 1);
  y = std::clamp<std::int64_t>(y, 0, plane.height - 1);
  const std::byte* row = plane.data + y * plane.pitch;
  if (facts.bytes_per_sample == 1) return std::to_integer<int>(row[x * step + first]);
  return reinterpret_cast<const std::uint16_t*>(row)[x * step + first] >> facts.shift;
}

std::array<double, 3> rgb_at(const Image& image, std::int32_t x, std::int32_t y) {
  const PixelFormatInfo& facts = format_info(image.format);
  std::array<double, 3> code{sample_at(image, 0, x, y), 0, 0};
  const auto [sx, sy] = siting(image);
  for (int c = 1; c < 3; ++c)
    code[static_cast<std::size_t>(c)] =
        facts.yuv ? resampled(image, c, Resize::bilinear, (x - sx) / (1 << facts.chroma_x),
                              (y - sy) / (1 << facts.chroma_y), 1, 1)
                  : sample_at(image, c, x, y);
  return to_rgb(image, code);
}

namespace {

struct Point {
  double x, y;
};

/// Source position of the centre of a target pixel, both in pixels from the top left corner.
Point source_centre(const PixelRect& part, int turns, Point turned) {
  switch (turns) {
  case 0:
    return {turned.x, turned.y};
  case 1:
    return {turned.y, part.height - turned.x};
  case 2:
    return {part.width - turned.x, part.height - turned.y};
  default:
    return {part.width - turned.y, turned.x};
  }
}

/// The part of a picture selected by Preprocess::region, copied sample by sample; an odd corner leaves the
/// first chroma sample half outside, by `phase` pixels.
Image cut(const Image& image, const PixelRect& region, std::int32_t (&phase)[2]) {
  const PixelFormatInfo& facts = format_info(image.format);
  phase[0] = facts.yuv ? region.x % (1 << facts.chroma_x) : 0;
  phase[1] = facts.yuv ? region.y % (1 << facts.chroma_y) : 0;
  Image part = Image::allocate(image.format, region.width + phase[0], region.height + phase[1]);
  part.color = image.color;
  part.color.matrix = matrix_of(image);
  for (std::size_t p = 0; p < facts.planes; ++p) {
    Plane& to = part.planes[p];
    const bool chroma = p > 0 && facts.yuv;
    const std::int32_t x = (region.x - phase[0]) >> (chroma ? facts.chroma_x : 0),
                       y = (region.y - phase[1]) >> (chroma ? facts.chroma_y : 0);
    const int bytes = facts.samples[p] * facts.bytes_per_sample;
    for (std::int32_t row = 0; row < to.height; ++row)
      for (std::int32_t i = 0; i < to.width * bytes; ++i)
        to.data[row * to.pitch + i] = image.planes[p].data[(y + row) * image.planes[p].pitch + x * bytes + i];
  }
  return part;
}

/// Luma, R, G or B of the region without the pixels that complete its first chroma samples.
Image without(const Image& part, const std::int32_t (&phase)[2]) {
  Image inner = part;
  const PixelFormatInfo& facts = format_info(part.format);
  inner.planes[0].data += phase[1] * inner.planes[0].pitch + phase[0] * facts.bytes_per_sample;
  inner.planes[0].width -= phase[0], inner.planes[0].height -= phase[1];
  return inner;
}

} // namespace

double preprocessed(const Image& whole, const Preprocess& spec, int c, std::int64_t x, std::int64_t y) {
  const PixelRect region = spec.region.whole() ? PixelRect{0, 0, whole.width, whole.height} : spec.region;
  const int turns = ((spec.quarter_turns % 4) + 4) % 4;
  const bool swapped = turns % 2 != 0;
  const double width = swapped ? region.height : region.width,
               height = swapped ? region.width : region.height;
  const double to_width = spec.width ? spec.width : width, to_height = spec.height ? spec.height : height;
  double columns = to_width, rows = to_height;
  if (spec.fit != Fit::stretch) {
    const double a = to_width / width, b = to_height / height;
    const double scale = spec.fit == Fit::crop ? std::max(a, b) : std::min(a, b);
    const auto side = [&](double size) {
      // An integral longer side may have rounding errors.
      return std::max(1.0, spec.fit == Fit::crop ? std::floor(size * scale + 1e-9) : std::rint(size * scale));
    };
    columns = side(width), rows = side(height);
  }
  const auto middle = [&](double rest) {
    return spec.fit == Fit::corner ? 0 : rest >= 0 ? std::floor(rest / 2) : -std::rint(-rest / 2);
  };
  const double left = middle(to_width - columns), top = middle(to_height - rows);
  const auto channel = static_cast<std::size_t>(c);
  const auto finish = [&](double v) {
    return (v * (spec.range[1] - spec.range[0]) / 255 + spec.range[0] - spec.mean[channel]) /
           spec.std[channel];
  };
  const auto across = static_cast<double>(x), down = static_cast<double>(y);
  if (across < left || down < top || across >= left + columns || down >= top + rows)
    return finish(spec.pad_value);
  std::int32_t phase[2];
  const Image part = cut(whole, region, phase), inner = without(part, phase);
  const Point turned{(across + 0.5 - left) * width / columns, (down + 0.5 - top) * height / rows};
  const Point centre = source_centre(region, turns, turned);
  const double sx = centre.x - 0.5, sy = centre.y - 0.5;
  const double step_x = swapped ? height / rows : width / columns,
               step_y = swapped ? width / columns : height / rows;
  // The pixel that contains the position: on an edge the one to the right and below in the rotated picture.
  const Point nearest =
      source_centre(region, turns, {std::floor(turned.x) + 0.5, std::floor(turned.y) + 0.5});
  const PixelFormatInfo& facts = format_info(whole.format);
  std::array<double, 3> code{};
  for (int k = 0; k < 3; ++k) {
    const bool chroma = facts.yuv && k > 0;
    const double fx = chroma ? 1 << facts.chroma_x : 1, fy = chroma ? 1 << facts.chroma_y : 1;
    const double px = chroma ? phase[0] : 0, py = chroma ? phase[1] : 0;
    double& value = code[static_cast<std::size_t>(k)];
    if (spec.resize == Resize::nearest) {
      value = sample_at(chroma ? part : inner, k,
                        static_cast<std::int64_t>(std::floor((nearest.x - 0.5 + px) / fx)),
                        static_cast<std::int64_t>(std::floor((nearest.y - 0.5 + py) / fy)));
      continue;
    }
    const auto [ox, oy] = siting(part);
    value = chroma ? resampled(part, k, spec.resize, (sx + px - ox) / fx, (sy + py - oy) / fy, step_x / fx,
                               step_y / fy)
                   : resampled(inner, k, spec.resize, sx, sy, step_x, step_y);
  }
  std::array<double, 3> rgb = to_rgb(part, code);
  for (double& v : rgb) v = std::clamp(v * 255, 0.0, 255.0);
  if (spec.gray) return finish(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]);
  return finish(rgb[static_cast<std::size_t>(spec.bgr ? 2 - c : c)]);
}

} // namespace lanner::test
