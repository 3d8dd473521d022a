#include "tasks/files/contour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace lanner {
namespace {

constexpr float tolerance = 1; ///< Largest distance of a dropped corner from the edge, in pixels.
constexpr std::size_t most_together =
    1024; ///< Corners simplified together: the time grows with the square of their number.

struct Pixel {
  std::int32_t x, y;
};

/// The largest part of a mask.
class LargestPart {
public:
  explicit LargestPart(const Mask& mask)
      : width_(mask.place.width), height_(mask.place.height),
        parts_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), 0) {
    const auto* inside = static_cast<const std::uint8_t*>(mask.inside.data());
    std::int32_t parts = 0;
    std::int64_t most = 0;
    for (std::int32_t y = 0; y < height_; ++y)
      for (std::int32_t x = 0; x < width_; ++x) {
        if (inside[at(x, y)] == 0 || parts_[at(x, y)] != 0) continue;
        const std::int64_t pixels = mark({x, y}, ++parts, inside);
        if (pixels <= most) continue;
        most = pixels;
        largest_ = parts;
        first_ = {x, y};
      }
  }

  bool empty() const { return largest_ == 0; }
  bool has(std::int32_t x, std::int32_t y) const {
    return x >= 0 && y >= 0 && x < width_ && y < height_ && parts_[at(x, y)] == largest_;
  }
  /// The leftmost of its topmost pixels.
  Pixel first() const { return first_; }

private:
  std::size_t at(std::int32_t x, std::int32_t y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
  }
  std::int64_t mark(Pixel start, std::int32_t part, const std::uint8_t* inside) {
    std::int64_t pixels = 0;
    std::vector<Pixel> open{start};
    parts_[at(start.x, start.y)] = part;
    while (!open.empty()) {
      const Pixel pixel = open.back();
      open.pop_back();
      ++pixels;
      for (const auto& [dx, dy] : {Pixel{1, 0}, Pixel{-1, 0}, Pixel{0, 1}, Pixel{0, -1}}) {
        const std::int32_t x = pixel.x + dx, y = pixel.y + dy;
        if (x < 0 || y < 0 || x >= width_ || y >= height_) continue;
        if (inside[at(x, y)] == 0 || parts_[at(x, y)] != 0) continue;
        parts_[at(x, y)] = part;
        open.push_back({x, y});
      }
    }
    return pixels;
  }

  std::int32_t width_, height_, largest_ = 0;
  Pixel first_{};
  std::vector<std::int32_t> parts_; ///< A pixel's part; 0: none.
};

/// Follows the pixel edges with the part at the right hand: the corners where the direction changes.
std::vector<Pixel> walk_around(const LargestPart& part) {
  constexpr std::array<Pixel, 4> steps{Pixel{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  // For each direction, the pixels ahead of a corner, to the left and to the right.
  constexpr std::array<Pixel, 4> ahead_left{Pixel{0, -1}, {0, 0}, {-1, 0}, {-1, -1}};
  constexpr std::array<Pixel, 4> ahead_right{Pixel{0, 0}, {-1, 0}, {-1, -1}, {0, -1}};
  const Pixel start = part.first();
  Pixel place = start;
  std::size_t direction = 0;
  std::vector<Pixel> corners{start};
  while (true) {
    place = {place.x + steps[direction].x, place.y + steps[direction].y};
    const bool right = part.has(place.x + ahead_right[direction].x, place.y + ahead_right[direction].y);
    const bool left = part.has(place.x + ahead_left[direction].x, place.y + ahead_left[direction].y);
    const std::size_t next = !right ? (direction + 1) % 4 : left ? (direction + 3) % 4 : direction;
    if (place.x == start.x && place.y == start.y && next == 0) return corners;
    if (next != direction) corners.push_back(place);
    direction = next;
  }
}

float distance_from_line(Pixel from, Pixel to, Pixel point) {
  const auto along_x = static_cast<float>(to.x - from.x), along_y = static_cast<float>(to.y - from.y);
  const auto x = static_cast<float>(point.x - from.x), y = static_cast<float>(point.y - from.y);
  const float length = std::hypot(along_x, along_y);
  return length > 0 ? std::abs(along_x * y - along_y * x) / length : std::hypot(x, y);
}

/// Keeps, between two kept corners, the one farthest from their line if it is far enough, and recurses on
/// both sides (Ramer 1972, Douglas and Peucker 1973).
void keep_between(const std::vector<Pixel>& corners, std::size_t from, std::size_t to,
                  std::vector<bool>& kept) {
  std::vector<std::array<std::size_t, 2>> open{{from, to}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    float most = 0;
    std::size_t farthest = first;
    for (std::size_t i = first + 1; i < last; ++i) {
      const float distance = distance_from_line(corners[first], corners[last], corners[i]);
      if (distance <= most) continue;
      most = distance;
      farthest = i;
    }
    if (most < tolerance) continue;
    kept[farthest] = true;
    open.push_back({first, farthest});
    open.push_back({farthest, last});
  }
}

std::vector<Pixel> simplified(std::vector<Pixel> corners) {
  corners.push_back(corners.front());
  std::vector<bool> kept(corners.size(), false);
  const std::size_t last = corners.size() - 1;
  // Of a ring, the first corner and the one farthest from it are always kept.
  std::size_t opposite = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < last; ++i) {
    const std::int64_t x = corners[i].x - corners[0].x, y = corners[i].y - corners[0].y;
    if (x * x + y * y > most) {
      most = x * x + y * y;
      opposite = i;
    }
  }
  std::vector<std::size_t> ends{0};
  for (const std::size_t end : {opposite, last}) {
    while (end - ends.back() > most_together) ends.push_back(ends.back() + most_together);
    ends.push_back(end);
  }
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    kept[ends[i]] = true;
    keep_between(corners, ends[i], ends[i + 1], kept);
  }
  std::vector<Pixel> rest;
  for (std::size_t i = 0; i < last; ++i)
    if (kept[i]) rest.push_back(corners[i]);
  corners.pop_back();
  return rest.size() >= 4 ? rest : corners;
}

} // namespace

std::vector<Corner> outer_contour(const Mask& mask) {
  if (mask.place.width == 0 || mask.place.height == 0) return {};
  const LargestPart part(mask);
  if (part.empty()) return {};
  std::vector<Corner> polygon;
  for (const Pixel& corner : simplified(walk_around(part)))
    polygon.push_back(
        {static_cast<float>(corner.x + mask.place.x), static_cast<float>(corner.y + mask.place.y)});
  return polygon;
}

} // namespace lanner
