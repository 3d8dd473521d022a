#include "draw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "canvas.h"

namespace lanner::tool {
namespace {

constexpr Color white{255, 255, 255}, ink{18, 22, 28};

// Okabe and Ito's colours for all kinds of sight ("Color Universal Design", 2008), the bright ones first.
constexpr Color class_colors[] = {{86, 180, 233}, {230, 159, 0},   {0, 158, 115}, {240, 228, 66},
                                  {213, 94, 0},   {204, 121, 167}, {0, 114, 178}};
constexpr float golden_angle = 2.39996f;

float luminance(Color color) {
  return (0.2126f * color.red + 0.7152f * color.green + 0.0722f * color.blue) / 255;
}

/// Height of a label's capitals: readable in a small clip, not loud in a large one.
float letter_height(const Image& image) {
  return std::clamp(std::round(static_cast<float>(std::min(image.width, image.height)) / 36), 7.f, 40.f);
}

std::string percent(double share) {
  return fmt::format("{:.0f}%", share * 100);
}

/// As much of a text as fits into a width.
std::string shortened(const std::string& text, float width, float height) {
  if (Canvas::text_width(text, height) <= width) return text;
  std::size_t length = text.size();
  while (length > 1 && Canvas::text_width(text.substr(0, length) + "..", height) > width) --length;
  return text.substr(0, length) + "..";
}

void draw_detection(Canvas& canvas, const Image& image, const Answer& answer) {
  const Color color = class_color(answer.number);
  const float height = letter_height(image), pad = std::round(height * 0.55f);
  const float line = std::max(1.5f, height / 5);
  const Rect box{static_cast<float>(answer.box[0]), static_cast<float>(answer.box[1]),
                 static_cast<float>(answer.box[2]), static_cast<float>(answer.box[3])};
  canvas.outline(box, height / 2, line + 2, ink, 0.35f);
  canvas.outline(box, height / 2, line, color, 1);
  const std::string text = fmt::format("{} {}", answer.label, percent(answer.score));
  const float width = Canvas::text_width(text, height) + 2 * pad, tall = height + 2 * pad;
  const float image_width = static_cast<float>(image.width);
  const float x = std::round(std::clamp(box.x0 - line / 2, 0.f, std::max(0.f, image_width - width)));
  // Above the box; where the picture ends, inside it.
  const float above = box.y0 - tall - line / 2;
  const float y = std::round(above >= 0 ? above : std::max(0.f, box.y0 + line / 2));
  canvas.fill({x, y, x + width, y + tall}, height / 2.5f, color, 0.86f);
  canvas.text(text, x + pad, y + pad, height, luminance(color) > 0.45f ? ink : white);
}

void draw_classes(Canvas& canvas, const Image& image, const std::vector<Answer>& answers) {
  if (answers.empty()) return;
  const float height = letter_height(image), gap = std::round(height * 0.9f), pad = std::round(height);
  const std::size_t rows = std::min<std::size_t>(answers.size(), 5);
  float names = 0;
  for (std::size_t i = 0; i < rows; ++i)
    names = std::max(names, Canvas::text_width(answers[i].label, height));
  const float room = static_cast<float>(image.width) - 4 * pad;
  const float bar = std::clamp(room * 0.3f, 4 * height, 10 * height),
              numbers = Canvas::text_width("100%", height);
  names = std::min(names, std::max(4 * height, room - bar - numbers - 2 * gap));
  const float left = pad, top = pad;
  const float right =
      std::min(static_cast<float>(image.width) - pad, left + pad + names + gap + bar + gap + numbers + pad);
  const float bottom = top + pad + static_cast<float>(rows) * (height + gap) - gap + pad;
  canvas.fill({left, top, right, bottom}, height / 1.5f, ink, 0.72f);
  for (std::size_t i = 0; i < rows; ++i) {
    const float y = top + pad + static_cast<float>(i) * (height + gap);
    const std::string name = shortened(answers[i].label, names, height);
    canvas.text(name, left + pad, y, height, i == 0 ? white : Color{205, 210, 216});
    const float start = left + pad + names + gap;
    canvas.fill({start, y, start + bar, y + height}, height / 3, white, 0.16f);
    const float filled = bar * static_cast<float>(std::clamp(answers[i].score, 0.0, 1.0));
    if (filled >= 1)
      canvas.fill({start, y, start + filled, y + height}, height / 3,
                  i == 0 ? class_colors[0] : Color{150, 170, 185}, 0.95f);
    const std::string number = percent(answers[i].score);
    canvas.text(number, start + bar + gap + numbers - Canvas::text_width(number, height), y, height, white);
  }
}

} // namespace

Color class_color(std::int64_t number) {
  constexpr auto count = static_cast<std::int64_t>(std::size(class_colors));
  if (number >= 0 && number < count) return class_colors[number];
  // Further classes walk round the circle of hues by the golden angle, so that neighbours differ most.
  const float hue = static_cast<float>(number % 1000) * golden_angle;
  const auto part = [&](float shift) {
    return 140 + 105 * std::cos(hue + shift * 2 * std::numbers::pi_v<float> / 3);
  };
  return {part(0), part(1), part(2)};
}

bool can_annotate(TaskKind kind) {
  return kind == TaskKind::classify || kind == TaskKind::detect;
}

Image annotate(const Image& picture, TaskKind kind, const std::vector<Answer>& answers) {
  Image drawn = Image::allocate(PixelFormat::rgb24, picture.width, picture.height);
  if (picture.format == drawn.format)
    copy_image(picture, drawn);
  else
    convert_image(picture, drawn);
  Canvas canvas(drawn);
  if (kind == TaskKind::classify) draw_classes(canvas, drawn, answers);
  if (has_boxes(kind)) // The best last, so that it lies on top.
    for (std::size_t i = answers.size(); i-- > 0;) draw_detection(canvas, drawn, answers[i]);
  return drawn;
}

} // namespace lanner::tool
