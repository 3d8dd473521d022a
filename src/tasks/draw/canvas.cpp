#include "tasks/draw/canvas.h"

#include <algorithm>
#include <cmath>

#include "tasks/draw/blend.h"
#include "tasks/draw/text.h"

namespace lanner {
namespace {

std::uint8_t covered(float distance) {
  return static_cast<std::uint8_t>(std::clamp(0.5f - distance, 0.f, 1.f) * 255 + 0.5f);
}

constexpr float far_away = 1e6f; ///< Outside of any picture, yet small enough for floats to resolve pixels.

bool has_place(Point point) {
  return std::abs(point.x) <= far_away && std::abs(point.y) <= far_away;
}

/// Edges of a rectangle outside of any picture are not visible.
Rect near(const Rect& rect) {
  const auto edge = [](float value) { return std::clamp(value, -far_away, far_away); };
  return {edge(rect.x0), edge(rect.y0), edge(rect.x1), edge(rect.y1)};
}

bool is_finite(const Rect& rect) {
  return std::isfinite(rect.x0) && std::isfinite(rect.y0) && std::isfinite(rect.x1) && std::isfinite(rect.y1);
}

/// The pixel row or column of a coordinate, or the nearest one.
std::int32_t pixel_at(float value, std::int32_t size) {
  if (!(value > 0)) return 0;
  return value >= static_cast<float>(size) ? size : static_cast<std::int32_t>(value);
}

float squared_distance(Point from, Point to, Point point) {
  const float along_x = to.x - from.x, along_y = to.y - from.y;
  const float length = along_x * along_x + along_y * along_y;
  const float t =
      length > 0
          ? std::clamp(((point.x - from.x) * along_x + (point.y - from.y) * along_y) / length, 0.f, 1.f)
          : 0.f;
  const float dx = point.x - from.x - t * along_x, dy = point.y - from.y - t * along_y;
  return dx * dx + dy * dy;
}

} // namespace

/// A rectangle with round corners, and how far outside and inside of its edge it is painted.
struct Canvas::Rounded {
  Rounded(const Rect& rect, float wanted_radius, float reach)
      : centre_x((rect.x0 + rect.x1) / 2), centre_y((rect.y0 + rect.y1) / 2),
        half_width((rect.x1 - rect.x0) / 2), half_height((rect.y1 - rect.y0) / 2),
        radius(std::max(0.f, std::min({wanted_radius, half_width, half_height}))), reach(reach) {}

  /// Distance of a pixel's centre from the straight edges' inner ends, along one axis.
  float beyond_x(float x) const { return std::abs(x - centre_x) - half_width + radius; }
  float beyond_y(float y) const { return std::abs(y - centre_y) - half_height + radius; }
  /// Distance from the edge, negative inside.
  float distance(float dx, float dy) const {
    const float outside_x = std::max(dx, 0.f), outside_y = std::max(dy, 0.f);
    return std::sqrt(outside_x * outside_x + outside_y * outside_y) + std::min(std::max(dx, dy), 0.f) -
           radius;
  }

  float centre_x, centre_y, half_width, half_height, radius, reach;
};

// Between the corners coverage depends only on the row, and left and right of them only on the column, so
// that most pixels of a large box are spans of one coverage.
template<typename Coverage>
void Canvas::paint(const Rounded& shape, Color color, float opacity, const Coverage& coverage) {
  const float middle_x = shape.half_width - shape.radius - shape.reach;
  const std::int32_t left = pixel_at(shape.centre_x - shape.half_width - shape.reach, width()),
                     right = pixel_at(shape.centre_x + shape.half_width + shape.reach + 1, width()),
                     top = pixel_at(shape.centre_y - shape.half_height - shape.reach, height()),
                     bottom = pixel_at(shape.centre_y + shape.half_height + shape.reach + 1, height());
  if (left >= right) return;
  std::int32_t inner_left = right, inner_right = right;
  if (middle_x >= 1) {
    inner_left = std::clamp(pixel_at(std::ceil(shape.centre_x - middle_x), width()), left, right);
    inner_right = std::clamp(pixel_at(std::floor(shape.centre_x + middle_x), width()), inner_left, right);
  }
  const PixelColor pixel(color);
  const int share = share_of(opacity);
  std::vector<std::uint8_t> edges(static_cast<std::size_t>(right - left));
  std::uint8_t inner = 0;
  bool straight = false; // `edges`: of a row between the corners
  const auto at = [&](std::int32_t x, float dy) {
    return covered(coverage(shape.distance(shape.beyond_x(static_cast<float>(x) + 0.5f), dy)));
  };
  for (std::int32_t y = top; y < bottom; ++y) {
    const float dy = std::max(shape.beyond_y(static_cast<float>(y) + 0.5f), -shape.reach);
    if (!straight || dy > -shape.reach) {
      for (std::int32_t x = left; x < inner_left; ++x) edges[static_cast<std::size_t>(x - left)] = at(x, dy);
      for (std::int32_t x = inner_right; x < right; ++x)
        edges[static_cast<std::size_t>(x - left)] = at(x, dy);
      inner = covered(coverage(shape.distance(-shape.reach, dy)));
      straight = dy <= -shape.reach;
    }
    std::byte* pixels = row(y);
    blend_row(pixels + 3 * left, edges.data(), inner_left - left, pixel, share);
    blend_span(pixels + 3 * inner_left, inner_right - inner_left, pixel, covered_share(inner, share));
    blend_row(pixels + 3 * inner_right, edges.data() + (inner_right - left), right - inner_right, pixel,
              share);
  }
}

void Canvas::fill(const Rect& rect, float radius, Color color, float opacity) {
  if (!is_finite(rect)) return;
  paint(Rounded(near(rect), radius, 1), color, opacity, [](float distance) { return distance; });
}

void Canvas::outline(const Rect& rect, float radius, float thickness, Color color, float opacity) {
  if (!is_finite(rect)) return;
  const float half = thickness / 2;
  paint(Rounded(near(rect), radius, half + 1), color, opacity,
        [half](float distance) { return std::abs(distance) - half; });
}

void Canvas::disc(Point centre, float radius, Color color, float opacity) {
  fill({centre.x - radius, centre.y - radius, centre.x + radius, centre.y + radius}, radius, color, opacity);
}

// Row by row, only the pixels between the line's two sides.
void Canvas::line(Point from, Point to, float thickness, Color color, float opacity) {
  if (!has_place(from) || !has_place(to)) return;
  const float half = thickness / 2, reach = half + 1;
  const float length = std::hypot(to.x - from.x, to.y - from.y), rise = to.y - from.y;
  const float left = std::min(from.x, to.x) - reach, right = std::max(from.x, to.x) + reach;
  const std::int32_t top = pixel_at(std::min(from.y, to.y) - reach, height()),
                     bottom = pixel_at(std::max(from.y, to.y) + reach + 1, height());
  const PixelColor pixel(color);
  const int share = share_of(opacity);
  std::vector<std::uint8_t> coverage;
  for (std::int32_t y = top; y < bottom; ++y) {
    const float middle = static_cast<float>(y) + 0.5f;
    float start = left, end = right;
    if (std::abs(rise) > 1e-3f) {
      const float across = from.x + (middle - from.y) / rise * (to.x - from.x);
      const float around = reach * length / std::abs(rise);
      start = std::max(start, across - around);
      end = std::min(end, across + around);
    }
    const std::int32_t first = pixel_at(start, width()), last = pixel_at(end + 1, width());
    if (last <= first) continue;
    coverage.resize(static_cast<std::size_t>(last - first));
    for (std::int32_t x = first; x < last; ++x)
      coverage[static_cast<std::size_t>(x - first)] =
          covered(std::sqrt(squared_distance(from, to, {static_cast<float>(x) + 0.5f, middle})) - half);
    blend_row(row(y) + 3 * first, coverage.data(), last - first, pixel, share);
  }
}

float Canvas::text(std::string_view text, float x, float y, float height, Color color) {
  const TextLine line = lay_out_text(text, height);
  const TextPicture letters = draw_text(line, x, y, {0, 0, width(), this->height()});
  const PixelColor pixel(color);
  for (std::int32_t i = 0; i < letters.place.height; ++i)
    blend_row(row(letters.place.y + i) + 3 * letters.place.x,
              letters.coverage.data() + static_cast<std::size_t>(i) * letters.place.width,
              letters.place.width, pixel, whole_share);
  return line.width;
}

} // namespace lanner
