#include "image/preprocess_plan.h"

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "image/color.h"

namespace lanner {

namespace {

std::int64_t scaled(std::int64_t size, double scale) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::floor(static_cast<double>(size) * scale + 0.5)));
}

PreprocessRegion region_of(const Preprocess& spec, std::int64_t width, std::int64_t height) {
  check(width > 0 && height > 0, ErrorCode::invalid_argument,
        "preprocess: source of {}x{}, expected at least 1x1", width, height);
  check(spec.width >= 0 && spec.height >= 0 && spec.width <= 65536 && spec.height <= 65536,
        ErrorCode::invalid_argument, "preprocess: target {}x{}, expected 0 to 65536 each", spec.width,
        spec.height);
  PreprocessRegion region;
  region.width = spec.width ? spec.width : width;
  region.height = spec.height ? spec.height : height;
  const double across = static_cast<double>(region.width) / static_cast<double>(width);
  const double down = static_cast<double>(region.height) / static_cast<double>(height);
  std::int64_t columns = region.width, rows = region.height;
  if (spec.fit != Fit::stretch) {
    const double scale = spec.fit == Fit::letterbox ? std::min(across, down) : std::max(across, down);
    columns = scaled(width, scale);
    rows = scaled(height, scale);
  }
  // Whole pixels, so that the padding has a sharp edge.
  const auto middle = [](std::int64_t whole, std::int64_t part) {
    return part <= whole ? (whole - part) / 2 : -((part - whole) / 2);
  };
  const std::int64_t left = middle(region.width, columns), top = middle(region.height, rows);
  region.place = {static_cast<double>(columns) / static_cast<double>(width),
                  static_cast<double>(rows) / static_cast<double>(height), static_cast<double>(left),
                  static_cast<double>(top)};
  region.x = std::max<std::int64_t>(0, left);
  region.y = std::max<std::int64_t>(0, top);
  region.columns = std::min(columns, region.width);
  region.rows = std::min(rows, region.height);
  return region;
}

Sampling sampling_of(const Image& image, const ColorInfo& color, Resize kind,
                     const PreprocessRegion& region) {
  // Pixel i has its centre at i + 0.5 in edge coordinates; samples are counted by their centres.
  const auto origin = [](std::int64_t first, double offset, double scale) {
    return (static_cast<double>(first) + 0.5 - offset) / scale - 0.5;
  };
  const Placement& place = region.place;
  const double x = origin(region.x, place.offset_x, place.scale_x),
               y = origin(region.y, place.offset_y, place.scale_y);
  Sampling sampling;
  sampling.luma_x = make_taps(kind, region.columns, 1 / place.scale_x, x, image.width);
  sampling.luma_y = make_taps(kind, region.rows, 1 / place.scale_y, y, image.height);
  const PixelFormatInfo& facts = info(image.format);
  if (!facts.yuv) return sampling;
  if (kind == Resize::nearest) {
    sampling.chroma_x = nearest_chroma(sampling.luma_x, facts.chroma_x);
    sampling.chroma_y = nearest_chroma(sampling.luma_y, facts.chroma_y);
    return sampling;
  }
  const ChromaOffset offset = chroma_offset(image.format, color.siting);
  const double cx = 1.0 / (1 << facts.chroma_x), cy = 1.0 / (1 << facts.chroma_y);
  sampling.chroma_x =
      make_taps(kind, region.columns, cx / place.scale_x, (x - offset.x) * cx, image.planes[1].width);
  sampling.chroma_y =
      make_taps(kind, region.rows, cy / place.scale_y, (y - offset.y) * cy, image.planes[1].height);
  return sampling;
}

// From stored samples to R'G'B' in 0..255.
RowMatrix rgb255_matrix(const Image& image, const ColorInfo& color) {
  const Matrix3 normal =
      info(image.format).yuv ? rgb_from_ycc(color.matrix) : Matrix3{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  RowMatrix rule{};
  for (int i = 0; i < 3; ++i) {
    double bias = 0;
    for (int j = 0; j < 3; ++j) {
      const SampleScale in = sample_scale(image.format, color, j);
      rule.m[i][j] = static_cast<float>(255 * normal[i][j] * in.scale);
      bias += normal[i][j] * in.offset;
    }
    rule.b[i] = static_cast<float>(255 * bias);
  }
  return rule;
}

} // namespace

PreprocessPlan preprocess_plan(const Image& image, const Preprocess& spec) {
  const ColorInfo color = resolved(image.color, image.format, image.height);
  PreprocessPlan plan{spec, region_of(spec, image.width, image.height), {}, rgb255_matrix(image, color), {},
                      {}};
  plan.sampling = sampling_of(image, color, spec.resize, plan.region);
  for (std::size_t c = 0; c < 3; ++c) {
    check(spec.std[c] != 0 && std::isfinite(spec.std[c]), ErrorCode::invalid_argument,
          "preprocess: std[{}] is {}, expected a number other than 0", c, spec.std[c]);
    plan.scale[c] = (spec.range[1] - spec.range[0]) / 255.f / spec.std[c];
    plan.bias[c] = (spec.range[0] - spec.mean[c]) / spec.std[c];
  }
  return plan;
}

Placement placement(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height) {
  return region_of(spec, source_width, source_height).place;
}

Shape output_shape(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height) {
  const PreprocessRegion region = region_of(spec, source_width, source_height);
  const std::int64_t channels = spec.gray ? 1 : 3;
  if (spec.channels_last) return {region.height, region.width, channels};
  return {channels, region.height, region.width};
}

} // namespace lanner
