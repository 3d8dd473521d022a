#include "canvas.h"

#include <algorithm>
#include <cmath>

#include "font.h"

namespace lanner::tool {
namespace {

constexpr float pen_share = 0.13f; ///< Thickness of a stroke by the height of a capital.

/// Distance of a point from a rectangle with round corners, negative inside.
float distance(const Rect& rect, float radius, float x, float y) {
  const float half_width = (rect.x1 - rect.x0) / 2, half_height = (rect.y1 - rect.y0) / 2;
  const float dx = std::abs(x - rect.x0 - half_width) - half_width + radius,
              dy = std::abs(y - rect.y0 - half_height) - half_height + radius;
  return std::hypot(std::max(dx, 0.f), std::max(dy, 0.f)) + std::min(std::max(dx, dy), 0.f) - radius;
}

float squared_distance(const Stroke& stroke, float x, float y) {
  const float along_x = stroke.x1 - stroke.x0, along_y = stroke.y1 - stroke.y0;
  const float length = along_x * along_x + along_y * along_y;
  const float t = length > 0
                      ? std::clamp(((x - stroke.x0) * along_x + (y - stroke.y0) * along_y) / length, 0.f, 1.f)
                      : 0.f;
  const float dx = x - stroke.x0 - t * along_x, dy = y - stroke.y0 - t * along_y;
  return dx * dx + dy * dy;
}

float covered(float distance) {
  return std::clamp(0.5f - distance, 0.f, 1.f);
}

float clamp_radius(const Rect& rect, float radius) {
  return std::max(0.f, std::min({radius, (rect.x1 - rect.x0) / 2, (rect.y1 - rect.y0) / 2}));
}

Rect grown(const Rect& rect, float by) {
  return {rect.x0 - by, rect.y0 - by, rect.x1 + by, rect.y1 + by};
}

void blend(std::byte& sample, float value, float share) {
  const auto old = static_cast<float>(std::to_integer<int>(sample));
  sample = static_cast<std::byte>(std::lround(old + (value - old) * share));
}

} // namespace

template<typename Coverage>
void Canvas::paint(const Rect& area, Color color, float opacity, const Coverage& coverage) {
  const auto first = [](float value, std::int32_t size) {
    return std::clamp(static_cast<std::int32_t>(std::floor(value)), 0, size);
  };
  const std::int32_t left = first(area.x0, image_.width), right = first(area.x1 + 1, image_.width);
  const std::int32_t top = first(area.y0, image_.height), bottom = first(area.y1 + 1, image_.height);
  for (std::int32_t y = top; y < bottom; ++y) {
    std::byte* row = image_.planes[0].data + image_.planes[0].pitch * y;
    for (std::int32_t x = left; x < right; ++x) {
      const float share = opacity * coverage(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
      if (share <= 0) continue;
      blend(row[x * 3], color.red, share);
      blend(row[x * 3 + 1], color.green, share);
      blend(row[x * 3 + 2], color.blue, share);
    }
  }
}

void Canvas::fill(const Rect& rect, float radius, Color color, float opacity) {
  const float round = clamp_radius(rect, radius);
  paint(grown(rect, 1), color, opacity,
        [&](float x, float y) { return covered(distance(rect, round, x, y)); });
}

void Canvas::outline(const Rect& rect, float radius, float thickness, Color color, float opacity) {
  const float round = clamp_radius(rect, radius);
  const float half = thickness / 2;
  const auto ring = [&](float x, float y) { return covered(std::abs(distance(rect, round, x, y)) - half); };
  const float reach = half + 1 + round;
  const Rect outer = grown(rect, half + 1), inner = grown(rect, -reach);
  if (inner.x1 <= inner.x0 || inner.y1 <= inner.y0) {
    paint(outer, color, opacity, ring);
    return;
  }
  // Only the four edges: the inside of a large box is most of the picture. Bands end on whole pixels, so none
  // is painted twice.
  const float inner_top = std::floor(inner.y0), inner_bottom = std::ceil(inner.y1),
              inner_left = std::floor(inner.x0), inner_right = std::ceil(inner.x1);
  paint({outer.x0, outer.y0, outer.x1, inner_top - 1}, color, opacity, ring);
  paint({outer.x0, inner_bottom, outer.x1, outer.y1}, color, opacity, ring);
  paint({outer.x0, inner_top, inner_left - 1, inner_bottom - 1}, color, opacity, ring);
  paint({inner_right, inner_top, outer.x1, inner_bottom - 1}, color, opacity, ring);
}

float Canvas::text(std::string_view text, float x, float y, float height, Color color) {
  Lettering line = letter(text);
  const float scale = height / cap_height, half = std::max(1.1f, height * pen_share) / 2;
  std::vector<Stroke> near;
  for (Stroke& stroke : line.strokes)
    stroke = {x + stroke.x0 * scale, y + stroke.y0 * scale, x + stroke.x1 * scale, y + stroke.y1 * scale};
  // By columns of a few letters, so that a pixel is held against near strokes alone.
  const float step = height;
  const Rect area{x - half - 1, y - half - 1, x + line.width * scale + half + 1,
                  y + (cap_height + descent) * scale + half + 1};
  for (float left = std::floor(area.x0); left < area.x1; left += std::ceil(step)) {
    const float right = left + std::ceil(step);
    near.clear();
    for (const Stroke& stroke : line.strokes)
      if (std::max(stroke.x0, stroke.x1) + half + 1 >= left &&
          std::min(stroke.x0, stroke.x1) - half - 1 <= right)
        near.push_back(stroke);
    if (near.empty()) continue;
    paint({left, area.y0, right - 1, area.y1}, color, 1, [&](float px, float py) {
      float nearest = 1e9f;
      for (const Stroke& stroke : near) nearest = std::min(nearest, squared_distance(stroke, px, py));
      return covered(std::sqrt(nearest) - half);
    });
  }
  return line.width * scale;
}

float Canvas::text_width(std::string_view text, float height) {
  return letter(text).width * height / cap_height;
}

} // namespace lanner::tool
