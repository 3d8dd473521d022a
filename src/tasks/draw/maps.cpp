// Draws a class or a depth for each pixel.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <lanner/classes.h>

#include "tasks/draw/blend.h"
#include "tasks/draw/color_maps.h"
#include "tasks/draw/style.h"
#include "tasks/draw/text.h"

namespace lanner {
namespace {

constexpr std::size_t most_named = 8;
constexpr double least_share = 0.002; ///< Least share of the picture for a class to be named.

/// A class of the picture.
struct Found {
  PixelColor color;
  bool background;
  std::int64_t pixels;
};

struct Shown {
  std::int64_t number;
  std::int64_t pixels;
};

/// Legend of names and colours in the lower left corner.
void draw_legend(Canvas& canvas, const DrawStyle& style, const std::vector<Shown>& classes,
                 const Task& task) {
  const float height = style.letters, pad = std::round(height * 0.8f), gap = std::round(height * 0.7f);
  const float room = static_cast<float>(canvas.width()) - 5 * pad - height;
  float names = 0;
  std::vector<std::string> texts;
  for (const Shown& shown : classes) {
    texts.push_back(fitted_text(class_label(task, shown.number), room, height));
    names = std::max(names, text_width(texts.back(), height));
  }
  const auto rows = static_cast<float>(classes.size());
  const float tall = rows * (height + gap) - gap + 2 * pad, wide = height + names + 3 * pad;
  const float left = pad, top = std::max(0.f, static_cast<float>(canvas.height()) - pad - tall);
  canvas.fill({left, top, left + wide, top + tall}, height / 1.5f, ink, 0.72f);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const float x = left + pad, y = top + pad + static_cast<float>(i) * (height + gap);
    canvas.fill({x, y, x + height, y + height}, height / 4, class_color(classes[i].number), 1);
    canvas.text(texts[i], x + height + pad, y, height, white);
  }
}

std::vector<Shown> largest(const std::map<std::int64_t, Found>& found, std::int64_t all) {
  std::vector<Shown> classes;
  for (const auto& [number, its] : found)
    if (!its.background && static_cast<double>(its.pixels) >= least_share * static_cast<double>(all))
      classes.push_back({number, its.pixels});
  std::ranges::stable_sort(classes, std::ranges::greater{}, &Shown::pixels);
  if (classes.size() > most_named) classes.resize(most_named);
  return classes;
}

std::pair<float, float> finite_range(std::span<const float> values) {
  constexpr float largest = std::numeric_limits<float>::max();
  float least = largest, most = -largest;
  for (const float value : values) {
    if (value < least && value >= -largest) least = value;
    if (value > most && value <= largest) most = value;
  }
  return {least, most};
}

/// 0 to 255 for values from `least` to `most`, -1 for values that are not finite. It does not vectorise where
/// it is
/// inlined.
[[gnu::noinline]] void find_levels(const float* values, float least, float most, float scale,
                                   std::vector<std::int16_t>& levels) {
  const std::size_t count = levels.size();
  std::int16_t* to = levels.data();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float within = std::min(std::max(least, values[i]), most); // NaN: least
    const int known = -static_cast<int>(within == values[i]);
    to[i] = static_cast<std::int16_t>(
        (static_cast<int>((within * 0.5f - least * 0.5f) * scale + 0.5f) & known) | ~known);
  }
}

} // namespace

bool is_background(const Task& task, std::int64_t number) {
  if (number < 0) return true;
  if (task.background) return number == *task.background;
  const bool known = number < static_cast<std::int64_t>(task.labels.size());
  if (!known) return false;
  const std::string& label = task.labels[static_cast<std::size_t>(number)];
  return label == "background" || label == "__background__";
}

void draw_semantic(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task) {
  const auto classes =
      elements_of<std::int32_t>(result.classes, {canvas.height(), canvas.width()}, "classes");
  const int share = share_of(style.opacity);
  std::map<std::int64_t, Found> found;
  for (std::int32_t y = 0; y < canvas.height(); ++y) {
    const std::int32_t* row = classes.data() + static_cast<std::int64_t>(y) * canvas.width();
    for (std::int32_t x = 0; x < canvas.width();) {
      const std::int32_t start = x, number = row[x];
      while (x < canvas.width() && row[x] == number) ++x;
      auto known = found.find(number);
      if (known == found.end()) {
        const Found fresh{PixelColor(class_color(number)), is_background(task, number), 0};
        known = found.emplace(number, fresh).first;
      }
      if (known->second.background) continue;
      blend_span(canvas.row(y) + 3 * start, x - start, known->second.color, share);
      known->second.pixels += x - start;
    }
  }
  const std::vector<Shown> shown = largest(found, static_cast<std::int64_t>(classes.size()));
  if (style.labels && !shown.empty()) draw_legend(canvas, style, shown, task);
}

void draw_depth(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task) {
  const auto depth = elements_of<float>(result.depth, {canvas.height(), canvas.width()}, "depth");
  const ColorMap& colors = color_map(task.color_map);
  const auto [least, most] = finite_range(depth);
  if (least > most) return;                      // no finite value
  const float half = most * 0.5f - least * 0.5f; // the difference of two floats may overflow
  const float scale = half > 0 ? std::min(255 / half, std::numeric_limits<float>::max()) : 0;
  const int share = share_of(style.opacity);
  std::vector<std::int16_t> levels(static_cast<std::size_t>(canvas.width()));
  for (std::int32_t y = 0; y < canvas.height(); ++y) {
    const float* row = depth.data() + static_cast<std::int64_t>(y) * canvas.width();
    find_levels(row, least, most, scale, levels);
    std::byte* to = canvas.row(y);
    for (std::size_t x = 0; x < levels.size(); ++x) {
      if (levels[x] < 0) continue;
      const auto& color = colors[static_cast<std::size_t>(levels[x])];
      if (share == whole_share)
        std::memcpy(to + 3 * x, color.data(), 3);
      else
        blend_pixel(to + 3 * x, PixelColor(color[0], color[1], color[2]), share);
    }
  }
}

} // namespace lanner
