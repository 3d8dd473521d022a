// Draws the classes of a picture.

#include <algorithm>
#include <cmath>

#include <lanner/classes.h>

#include "tasks/draw/style.h"
#include "tasks/draw/text.h"

namespace lanner {
namespace {

constexpr std::int64_t most_rows = 5;

} // namespace

void draw_classes(Canvas& canvas, const DrawStyle& style, const ResultParts& parts, const Task& task) {
  if (parts.count == 0) return;
  const float height = style.letters, gap = std::round(height * 0.9f), pad = std::round(height);
  const std::int64_t rows = std::min(parts.count, most_rows);
  const auto label = [&](std::int64_t i) {
    return class_label(task, parts.labels[static_cast<std::size_t>(i)]);
  };
  float names = 0;
  for (std::int64_t i = 0; i < rows; ++i) names = std::max(names, text_width(label(i), height));
  const auto width = static_cast<float>(canvas.width());
  const float room = width - 4 * pad;
  const float bar = std::clamp(room * 0.3f, 4 * height, 10 * height), numbers = text_width("100%", height);
  names = std::min(names, std::max(4 * height, room - bar - numbers - 2 * gap));
  const float left = pad, top = pad;
  const float right = std::min(width - pad, left + pad + names + gap + bar + gap + numbers + pad);
  const float bottom = top + pad + static_cast<float>(rows) * (height + gap) - gap + pad;
  canvas.fill({left, top, right, bottom}, height / 1.5f, ink, 0.72f);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float y = top + pad + static_cast<float>(i) * (height + gap);
    canvas.text(fitted_text(label(i), names, height), left + pad, y, height,
                i == 0 ? white : Color{205, 210, 216});
    const float start = left + pad + names + gap;
    canvas.fill({start, y, start + bar, y + height}, height / 3, white, 0.16f);
    const float score = parts.scores[static_cast<std::size_t>(i)];
    const float filled = bar * std::clamp(score, 0.f, 1.f);
    if (filled >= 1)
      canvas.fill({start, y, start + filled, y + height}, height / 3,
                  i == 0 ? class_color(0) : Color{150, 170, 185}, 0.95f);
    const std::string number = percent_text(score);
    canvas.text(number, start + bar + gap + numbers - text_width(number, height), y, height, white);
  }
}

} // namespace lanner
