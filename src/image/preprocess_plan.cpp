#include "image/preprocess_plan.h"

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "base/check.h"
#include "image/color.h"

namespace lanner {

namespace {

/// Halves round to even, as in Python, the language of the usual letterbox code.
std::int64_t scaled(std::int64_t size, double scale) {
  return std::max<std::int64_t>(1, std::llrint(static_cast<double>(size) * scale));
}

struct Extent {
  std::int64_t width, height;
};

/// The shorter side becomes `shorter`, the longer one is scaled alike and truncated (torchvision).
Extent with_shorter_side(const Extent& from, std::int64_t shorter) {
  const auto longer = [&](std::int64_t a, std::int64_t b) { return std::max(shorter, shorter * a / b); };
  return from.width < from.height ? Extent{shorter, longer(from.height, from.width)}
                                  : Extent{longer(from.width, from.height), shorter};
}

/// The smallest picture that covers the target, or the one with the given shorter side.
Extent covering(const Preprocess& spec, const Extent& from, const Extent& target) {
  if (spec.shorter_side > 0) {
    const Extent whole = with_shorter_side(from, spec.shorter_side);
    check(whole.width >= target.width && whole.height >= target.height, ErrorCode::invalid_argument,
          "preprocess: shorter_side {} scales a picture to {}x{}, expected at least the target's {}x{}",
          spec.shorter_side, whole.width, whole.height, target.width, target.height);
    return whole;
  }
  if (target.width * from.height >= target.height * from.width)
    return {target.width, from.height * target.width / from.width};
  return {from.width * target.height / from.height, target.height};
}

/// The size of a target with open width and height.
Extent own_extent(const Preprocess& spec, const Extent& from) {
  Extent own = spec.shorter_side > 0 ? with_shorter_side(from, spec.shorter_side) : from;
  const std::int64_t longer = std::max(own.width, own.height);
  if (spec.longer_side > 0 && longer > spec.longer_side) {
    const double scale =
        static_cast<double>(spec.longer_side) / static_cast<double>(std::max(from.width, from.height));
    own = {scaled(from.width, scale), scaled(from.height, scale)};
  }
  const std::int64_t unit = spec.multiple;
  const auto nearest = [&](std::int64_t size) {
    return unit > 1 ? scaled(size, 1 / static_cast<double>(unit)) * unit : size;
  };
  return {nearest(own.width), nearest(own.height)};
}

void check_sides(const Preprocess& spec) {
  const auto good = [](std::int32_t size, std::int32_t least) { return size >= least && size <= 65536; };
  check(good(spec.width, 0) && good(spec.height, 0), ErrorCode::invalid_argument,
        "preprocess: target {}x{}, expected 0 to 65536 each", spec.width, spec.height);
  check(
      good(spec.shorter_side, 0) && good(spec.longer_side, 0) && good(spec.multiple, 1),
      ErrorCode::invalid_argument,
      "preprocess: shorter_side {}, longer_side {}, multiple {}, expected 0 to 65536, the multiple from 1 on",
      spec.shorter_side, spec.longer_side, spec.multiple);
  const bool open = spec.width == 0 && spec.height == 0;
  const bool padded = spec.fit == Fit::letterbox || spec.fit == Fit::corner;
  check(spec.shorter_side == 0 || spec.fit == Fit::crop || (spec.fit == Fit::stretch && open),
        ErrorCode::invalid_argument,
        "preprocess: shorter_side is for fit crop, and for fit stretch without a size");
  check(spec.longer_side == 0 || (spec.fit == Fit::stretch && open), ErrorCode::invalid_argument,
        "preprocess: longer_side is for fit stretch without a size");
  check(spec.multiple == 1 || (padded && spec.width > 0 && spec.height > 0) ||
            (spec.fit == Fit::stretch && open),
        ErrorCode::invalid_argument,
        "preprocess: multiple is for fit letterbox or corner with a size, and for fit stretch without one");
}

PixelRect checked_region(const PixelRect& region, std::int64_t width, std::int64_t height) {
  check(width > 0 && height > 0, ErrorCode::invalid_argument,
        "preprocess: source of {}x{}, expected at least 1x1", width, height);
  if (region == PixelRect{})
    return {0, 0, static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
  const bool inside = region.x >= 0 && region.y >= 0 && region.width > 0 && region.height > 0 &&
                      std::int64_t{region.x} + region.width <= width &&
                      std::int64_t{region.y} + region.height <= height;
  check(inside, ErrorCode::invalid_argument,
        "preprocess: region {}x{} at {},{}, expected one of at least 1x1 within the picture of {}x{}",
        region.width, region.height, region.x, region.y, width, height);
  return region;
}

int turns_of(const Preprocess& spec) {
  return (spec.quarter_turns % 4 + 4) % 4;
}

/// `width` and `height` are those of the rotated region.
PreprocessTarget fitted(const Preprocess& spec, std::int64_t width, std::int64_t height) {
  check_sides(spec);
  const Extent own =
      spec.width == 0 && spec.height == 0 ? own_extent(spec, {width, height}) : Extent{width, height};
  PreprocessTarget target;
  target.width = spec.width ? spec.width : own.width;
  target.height = spec.height ? spec.height : own.height;
  const double across = static_cast<double>(target.width) / static_cast<double>(width);
  const double down = static_cast<double>(target.height) / static_cast<double>(height);
  std::int64_t columns = target.width, rows = target.height;
  if (spec.fit == Fit::crop) {
    const Extent whole = covering(spec, {width, height}, {target.width, target.height});
    columns = whole.width, rows = whole.height;
  } else if (spec.fit != Fit::stretch) {
    const double scale = std::min(across, down);
    columns = scaled(width, scale);
    rows = scaled(height, scale);
    if (spec.multiple > 1) {
      target.width = columns + (target.width - columns) % spec.multiple;
      target.height = rows + (target.height - rows) % spec.multiple;
    }
  }
  // Whole pixels, so that the padding has a sharp edge; when cropping, halves round to even.
  const auto middle = [&](std::int64_t whole, std::int64_t part) -> std::int64_t {
    if (part > whole) return -std::llrint(static_cast<double>(part - whole) / 2);
    return spec.fit == Fit::corner ? 0 : (whole - part) / 2;
  };
  const std::int64_t left = middle(target.width, columns), top = middle(target.height, rows);
  target.scale_x = static_cast<double>(columns) / static_cast<double>(width);
  target.scale_y = static_cast<double>(rows) / static_cast<double>(height);
  target.offset_x = static_cast<double>(left), target.offset_y = static_cast<double>(top);
  target.x = std::max<std::int64_t>(0, left);
  target.y = std::max<std::int64_t>(0, top);
  target.columns = std::min(columns, target.width);
  target.rows = std::min(rows, target.height);
  return target;
}

PreprocessTarget target_of(const Preprocess& spec, const PixelRect& region) {
  return turns_of(spec) % 2 ? fitted(spec, region.height, region.width)
                            : fitted(spec, region.width, region.height);
}

struct ChromaAxis {
  std::int64_t inputs;
  int log2, phase; ///< As in SampledAxes.
  double offset;   ///< Pixel of the picture's first sample.
};

SampledAxis chroma_axis(const SampledAxis& luma, const ChromaAxis& chroma) {
  const double spacing = 1 << chroma.log2;
  double offset = chroma.offset - chroma.phase;
  if (luma.mirrored)
    offset = static_cast<double>(luma.inputs - 1) - offset - static_cast<double>(chroma.inputs - 1) * spacing;
  return {luma.kind,    luma.size, chroma.inputs, luma.step / spacing, (luma.origin - offset) / spacing,
          luma.mirrored};
}

SampledAxes axes_of(const PreprocessPlan& plan, const PixelRect& region) {
  const PreprocessTarget& target = plan.target;
  const int turns = plan.quarter_turns;
  const auto axis = [&](std::int64_t inputs, bool mirrored, bool along_x) {
    const std::int64_t first = along_x ? target.x : target.y, size = along_x ? target.columns : target.rows;
    const double scale = along_x ? target.scale_x : target.scale_y,
                 offset = along_x ? target.offset_x : target.offset_y;
    // Pixel i has its centre at i + 0.5 in edge coordinates; sample coordinates count centres.
    const double origin = (static_cast<double>(first) + 0.5 - offset) / scale - 0.5;
    return SampledAxis{plan.spec.resize, size, inputs, 1 / scale, origin, mirrored};
  };
  SampledAxes axes;
  // Clockwise, the lowest row becomes the first column.
  axes.luma_x = axis(region.width, turns >= 2, !plan.swaps_axes());
  axes.luma_y = axis(region.height, turns == 1 || turns == 2, plan.swaps_axes());
  const PixelFormatInfo& facts = format_info(plan.source.format);
  axes.chroma = facts.yuv;
  if (!facts.yuv) return axes;
  axes.log2_x = facts.chroma_x, axes.log2_y = facts.chroma_y;
  axes.phase_x = region.x & ((1 << axes.log2_x) - 1), axes.phase_y = region.y & ((1 << axes.log2_y) - 1);
  const ChromaOffset offset = chroma_offset(plan.source.format, plan.source.color.siting);
  const Plane& chroma = plan.source.planes[1];
  axes.chroma_x = chroma_axis(axes.luma_x, {chroma.width, axes.log2_x, axes.phase_x, offset.x});
  axes.chroma_y = chroma_axis(axes.luma_y, {chroma.height, axes.log2_y, axes.phase_y, offset.y});
  return axes;
}

Taps taps_of(const SampledAxis& axis) {
  Taps taps = make_taps(axis.kind, axis.size, axis.step, axis.origin, axis.inputs);
  return axis.mirrored ? mirrored(std::move(taps), axis.inputs) : taps;
}

// Maps stored samples to R'G'B' in 0..255.
RowMatrix rgb255_matrix(const Image& image, const ColorInfo& color) {
  const Matrix3 normal =
      format_info(image.format).yuv ? rgb_from_ycc(color.matrix) : Matrix3{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
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

Image region_view(const Image& image, const PixelRect& wanted) {
  const PixelRect region = checked_region(wanted, image.width, image.height);
  Image view = image;
  view.color = resolved(image.color, image.format, image.height);
  view.width = region.width, view.height = region.height;
  const PixelFormatInfo& facts = format_info(image.format);
  for (std::size_t p = 0; p < facts.planes; ++p) {
    const bool chroma = p > 0 && facts.yuv;
    const int sx = chroma ? facts.chroma_x : 0, sy = chroma ? facts.chroma_y : 0;
    const std::int32_t x = region.x >> sx, y = region.y >> sy;
    Plane& plane = view.planes[p];
    plane.data += y * plane.pitch + std::int64_t{x} * facts.samples[p] * facts.bytes_per_sample;
    plane.width = ((region.x + region.width - 1) >> sx) - x + 1;
    plane.height = ((region.y + region.height - 1) >> sy) - y + 1;
  }
  return view;
}

Sampling sampling_of(const SampledAxes& axes) {
  Sampling sampling;
  sampling.luma_x = taps_of(axes.luma_x);
  sampling.luma_y = taps_of(axes.luma_y);
  if (!axes.chroma) return sampling;
  const bool nearest = axes.luma_x.kind == Resize::nearest;
  sampling.chroma_x =
      nearest ? nearest_chroma(sampling.luma_x, axes.log2_x, axes.phase_x) : taps_of(axes.chroma_x);
  sampling.chroma_y =
      nearest ? nearest_chroma(sampling.luma_y, axes.log2_y, axes.phase_y) : taps_of(axes.chroma_y);
  return sampling;
}

PreprocessPlan preprocess_plan(const Image& image, const Preprocess& spec) {
  const PixelRect region = checked_region(spec.region, image.width, image.height);
  PreprocessPlan plan{spec, region_view(image, region), turns_of(spec), target_of(spec, region), {}, {}, {},
                      {}};
  plan.to_rgb = rgb255_matrix(plan.source, plan.source.color);
  plan.axes = axes_of(plan, region);
  for (std::size_t c = 0; c < 3; ++c) {
    check(spec.std[c] != 0 && std::isfinite(spec.std[c]), ErrorCode::invalid_argument,
          "preprocess: std[{}] is {}, expected a number other than 0", c, spec.std[c]);
    plan.scale[c] = (spec.range[1] - spec.range[0]) / 255.f / spec.std[c];
    plan.bias[c] = (spec.range[0] - spec.mean[c]) / spec.std[c];
  }
  return plan;
}

Placement placement(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height) {
  const PixelRect region = checked_region(spec.region, source_width, source_height);
  const PreprocessTarget target = target_of(spec, region);
  const double left = region.x, top = region.y, right = left + region.width, bottom = top + region.height;
  Placement place;
  const double x = target.scale_x, y = target.scale_y;
  switch (turns_of(spec)) {
  case 0:
    place = {x, 0, -x * left, 0, y, -y * top};
    break;
  case 1:
    place = {0, -x, x * bottom, y, 0, -y * left};
    break;
  case 2:
    place = {-x, 0, x * right, 0, -y, y * bottom};
    break;
  default:
    place = {0, x, -x * top, -y, 0, y * right};
    break;
  }
  place.x += target.offset_x;
  place.y += target.offset_y;
  return place;
}

Shape output_shape(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height) {
  const PreprocessTarget target = target_of(spec, checked_region(spec.region, source_width, source_height));
  const std::int64_t channels = spec.gray ? 1 : 3;
  if (spec.channels_last) return {target.height, target.width, channels};
  return {channels, target.height, target.width};
}

} // namespace lanner
