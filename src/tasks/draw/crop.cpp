#include <algorithm>
#include <cmath>

#include <lanner/draw.h>

#include "base/check.h"
#include "image/color.h"
#include "tasks/draw/style.h"

namespace lanner {
namespace {

/// The pixels of the picture that a box covers.
PixelRect covered_pixels(const Image& picture, const std::array<float, 4>& box, std::int64_t i) {
  const auto edge = [](float value, std::int32_t size) {
    return static_cast<std::int32_t>(std::clamp(value, 0.f, static_cast<float>(size)));
  };
  const bool finite = std::ranges::all_of(box, [](float value) { return std::isfinite(value); });
  PixelRect part;
  if (finite) {
    part.x = edge(std::floor(box[0]), picture.width);
    part.y = edge(std::floor(box[1]), picture.height);
    part.width = box[2] > box[0] ? edge(std::ceil(box[2]), picture.width) - part.x : 0;
    part.height = box[3] > box[1] ? edge(std::ceil(box[3]), picture.height) - part.y : 0;
  }
  check(part.width > 0 && part.height > 0, ErrorCode::invalid_argument,
        "crop: box {} [{}, {}, {}, {}] covers no pixel of a picture of {}x{}", i, box[0], box[1], box[2],
        box[3], picture.width, picture.height);
  return part;
}

} // namespace

Image part_of(const Image& picture, const PixelRect& part) {
  const PixelFormatInfo& facts = format_info(picture.format);
  Image view = picture;
  view.width = part.width;
  view.height = part.height;
  for (std::size_t p = 0; p < facts.planes; ++p) {
    const int across = facts.yuv && p > 0 ? facts.chroma_x : 0,
              down = facts.yuv && p > 0 ? facts.chroma_y : 0;
    Plane& plane = view.planes[p];
    plane.data += plane.pitch * (part.y >> down) +
                  static_cast<std::int64_t>(part.x >> across) * facts.samples[p] * facts.bytes_per_sample;
    plane.width = (part.width + (1 << across) - 1) >> across;
    plane.height = (part.height + (1 << down) - 1) >> down;
  }
  return view;
}

Image crop_box(const Image& picture, const TaskResult& result, std::int64_t i) {
  check(picture.defined(), ErrorCode::invalid_argument, "crop: no image was given");
  check(has_boxes(result.kind), ErrorCode::invalid_argument, "crop: the result has no boxes");
  check(result.width == picture.width && result.height == picture.height, ErrorCode::invalid_argument,
        "crop: expected the image of the result, {}x{} pixels, got {}x{}", result.width, result.height,
        picture.width, picture.height);
  const ResultParts parts = parts_of(result);
  check(i >= 0 && i < parts.count, ErrorCode::invalid_argument, "crop: no box {}, the result has {} boxes", i,
        parts.count);
  const PixelRect part = covered_pixels(picture, parts.box(i), i);
  if (picture.format == PixelFormat::rgb24 && picture.device.is_host()) return part_of(picture, part);
  // Includes surrounding chroma samples, from which those at the edges are interpolated; the matrix of a
  // picture of unspecified colour is chosen by its rows before it is cropped.
  constexpr std::int32_t around = 8;
  const std::int32_t left = std::max(0, (part.x - around) & ~3), top = std::max(0, (part.y - around) & ~3),
                     right = std::min(picture.width, (part.x + part.width + around + 3) & ~3),
                     bottom = std::min(picture.height, (part.y + part.height + around + 3) & ~3);
  Image wider = part_of(picture, {left, top, right - left, bottom - top});
  wider.color = resolved(picture.color, picture.format, picture.height);
  return part_of(to_rgb(wider), {part.x - left, part.y - top, part.width, part.height});
}

} // namespace lanner
