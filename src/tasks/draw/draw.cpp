#include <lanner/draw.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "tasks/draw/style.h"

namespace lanner {

DrawStyle style_of(const DrawOptions& options, const Image& picture, TaskKind kind) {
  const float opacity = options.opacity.value_or(kind == TaskKind::depth ? 1.f : 0.5f);
  check(opacity >= 0 && opacity <= 1, ErrorCode::invalid_argument, "draw: opacity {}: expected 0 to 1",
        opacity);
  check(options.line_width >= 0 && options.line_width <= 1000, ErrorCode::invalid_argument,
        "draw: line width {}: expected pixels from 0 to 1000", options.line_width);
  const auto smaller = static_cast<float>(std::min(picture.width, picture.height));
  const float letters = std::clamp(std::round(smaller / 40), 7.f, 40.f);
  return {letters, options.line_width > 0 ? options.line_width : std::max(1.5f, letters / 5), opacity,
          options.labels};
}

std::string percent_text(double share) {
  return fmt::format("{:.0f}%", share * 100);
}

Image to_rgb(const Image& picture) {
  check(picture.defined(), ErrorCode::invalid_argument, "draw: no image was given");
  Image there = picture;
  if (!picture.device.is_host()) {
    there = Image::allocate(picture.format, picture.width, picture.height);
    copy_image(picture, there);
  }
  Image drawn = Image::allocate(PixelFormat::rgb24, picture.width, picture.height);
  if (there.format == drawn.format)
    copy_image(there, drawn);
  else
    convert_image(there, drawn);
  return drawn;
}

bool can_draw(TaskKind kind) noexcept {
  return kind != TaskKind::none && kind != TaskKind::embed;
}

Image draw_result(const Image& picture, const TaskResult& result, const Task& task,
                  const DrawOptions& options) {
  check(can_draw(result.kind), ErrorCode::invalid_argument, "draw: a result of the task {} cannot be drawn",
        to_string(result.kind));
  if (result.kind == TaskKind::image) {
    check(result.image.defined(), ErrorCode::invalid_argument, "draw: the result has no image");
    return to_rgb(result.image);
  }
  const DrawStyle style = style_of(options, picture, result.kind);
  Image drawn = to_rgb(picture);
  check(result.width == picture.width && result.height == picture.height, ErrorCode::invalid_argument,
        "draw: expected the image of the result, {}x{} pixels, got {}x{}", result.width, result.height,
        picture.width, picture.height);
  Canvas canvas(drawn);
  if (result.kind == TaskKind::classify)
    draw_classes(canvas, style, parts_of(result), task);
  else if (result.kind == TaskKind::semantic)
    draw_semantic(canvas, style, result, task);
  else if (result.kind == TaskKind::depth)
    draw_depth(canvas, style, result, task);
  else {
    parts_of(result); // Crops belong to this image and have its size.
    draw_crop_maps(drawn, style, result);
    draw_boxes(canvas, style, result, task);
  }
  return drawn;
}

} // namespace lanner
