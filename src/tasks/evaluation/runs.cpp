#include "tasks/evaluation/runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/limits/paced_deadline.h"

namespace lanner::tasks {
namespace {

/// Common subdivision of two masks' runs, for one picture size: `visit(pixels, inside_a, inside_b)`.
template<typename Visit>
void walk(const Runs& a, const Runs& b, Visit&& visit) {
  std::size_t i = 0, j = 0;
  std::uint32_t left_a = a.empty() ? 0 : a[0], left_b = b.empty() ? 0 : b[0];
  while (i < a.size() && j < b.size()) {
    const std::uint32_t step = std::min(left_a, left_b);
    if (step > 0) visit(step, i % 2 == 1, j % 2 == 1);
    left_a -= step;
    left_b -= step;
    if (left_a == 0 && ++i < a.size()) left_a = a[i];
    if (left_b == 0 && ++j < b.size()) left_b = b[j];
  }
}

/// Builds runs from pixels in order.
class RunWriter {
public:
  void add(std::uint32_t pixels, bool inside) {
    if (pixels == 0) return;
    if (inside != inside_) {
      runs_.push_back(run_);
      run_ = 0;
      inside_ = inside;
    }
    run_ += pixels;
  }
  Runs finish() {
    runs_.push_back(run_);
    return std::move(runs_);
  }

private:
  Runs runs_;
  std::uint32_t run_ = 0;
  bool inside_ = false;
};

/// A polygon's corners are rounded to a fifth of a pixel.
constexpr double parts = 5;

struct Corner {
  std::int64_t x, y;
};

std::int64_t rounded(double value) {
  return static_cast<std::int64_t>(parts * value + 0.5);
}

/// Points along an edge, both corners included, one for each step along the longer side.
template<typename Visit>
void walk_edge(Corner from, Corner to, Visit&& visit) {
  const std::int64_t dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
  const bool across = dx >= dy;
  const bool back = across ? from.x > to.x : from.y > to.y;
  if (back) std::swap(from, to); // So that both directions of an edge are rounded alike.
  const std::int64_t steps = across ? dx : dy;
  const double slope =
      steps == 0 ? 0
                 : static_cast<double>(across ? to.y - from.y : to.x - from.x) / static_cast<double>(steps);
  for (std::int64_t i = 0; i <= steps; ++i) {
    const std::int64_t t = back ? steps - i : i;
    const auto other = static_cast<std::int64_t>(static_cast<double>(across ? from.y : from.x) +
                                                 slope * static_cast<double>(t) + 0.5);
    visit(across ? Corner{from.x + t, other} : Corner{other, from.y + t});
  }
}

/// Where the edge crosses the middle of a pixel's column, the first pixel below: there the inside changes
/// there.
class Crossings {
public:
  Crossings(std::int32_t width, std::int32_t height) : width_(width), height_(height) {}

  /// Whether no point between these corners, nor one near them, is in a column of the picture.
  bool misses(const Corner& from, const Corner& to) const {
    const auto margin = static_cast<std::int64_t>(parts);
    return std::max(from.x, to.x) < -margin || std::min(from.x, to.x) > margin * (width_ + 1);
  }
  void visit(const Corner& point) {
    look_();
    if (any_ && before_.x != point.x) {
      const double x = to_pixels(std::min(point.x, before_.x)), y = to_pixels(std::min(point.y, before_.y));
      if (x == std::floor(x) && x >= 0 && x <= width_ - 1)
        places_.push_back(
            static_cast<std::uint64_t>(x) * height_ +
            static_cast<std::uint64_t>(std::ceil(std::clamp(y, 0., static_cast<double>(height_)))));
    }
    before_ = point;
    any_ = true;
  }
  Runs finish() {
    std::ranges::sort(places_);
    RunWriter writer;
    std::uint64_t at = 0;
    bool inside = false;
    for (const std::uint64_t place : places_) {
      writer.add(static_cast<std::uint32_t>(place - at), inside);
      at = place;
      inside = !inside;
    }
    writer.add(static_cast<std::uint32_t>(static_cast<std::uint64_t>(width_) * height_ - at), inside);
    return writer.finish();
  }

private:
  static double to_pixels(std::int64_t part) { return (static_cast<double>(part) + 0.5) / parts - 0.5; }

  const std::int32_t width_;
  const std::uint32_t height_;
  PacedDeadline look_;
  Corner before_{0, 0};
  bool any_ = false;
  std::vector<std::uint64_t> places_;
};

} // namespace

std::uint64_t area_of(const Runs& runs) {
  std::uint64_t area = 0;
  for (std::size_t i = 1; i < runs.size(); i += 2) area += runs[i];
  return area;
}

std::uint64_t shared_area(const Runs& a, const Runs& b) {
  std::uint64_t area = 0;
  walk(a, b, [&](std::uint32_t pixels, bool in_a, bool in_b) { area += in_a && in_b ? pixels : 0; });
  return area;
}

Runs joined(const Runs& a, const Runs& b) {
  RunWriter writer;
  walk(a, b, [&](std::uint32_t pixels, bool in_a, bool in_b) { writer.add(pixels, in_a || in_b); });
  return writer.finish();
}

std::array<double, 4> bounds_of(const Runs& runs, std::int32_t height) {
  const auto rows = static_cast<std::uint64_t>(height);
  std::uint64_t at = 0, left = 0, right = 0, top = rows, bottom = 0;
  bool any = false;
  for (std::size_t i = 0; i < runs.size(); at += runs[i++]) {
    if (i % 2 == 0 || runs[i] == 0) continue;
    const std::uint64_t last = at + runs[i] - 1;
    if (!any) left = at / rows;
    any = true;
    right = last / rows;
    const bool over = at / rows != last / rows;
    top = over ? 0 : std::min(top, at % rows);
    bottom = over ? rows - 1 : std::max(bottom, last % rows);
  }
  if (!any) return {};
  return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(right - left + 1),
          static_cast<double>(bottom - top + 1)};
}

Mask mask_of_runs(const Runs& runs, std::int32_t width, std::int32_t height) {
  check_runs(runs, width, height);
  const std::array<double, 4> bounds = bounds_of(runs, height);
  Mask mask;
  mask.place = {static_cast<std::int32_t>(bounds[0]), static_cast<std::int32_t>(bounds[1]),
                static_cast<std::int32_t>(bounds[2]), static_cast<std::int32_t>(bounds[3])};
  if (mask.place.width == 0) return mask;
  mask.inside = Tensor::allocate(DType::u8, {mask.place.height, mask.place.width});
  const auto pixels = mask.inside.as<std::uint8_t>();
  std::ranges::fill(pixels, std::uint8_t{0});
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < runs.size(); at += runs[i++]) {
    if (i % 2 == 0) continue;
    for (std::uint64_t pixel = at; pixel < at + runs[i]; ++pixel) {
      const auto x = static_cast<std::int64_t>(pixel / static_cast<std::uint64_t>(height)) - mask.place.x;
      const auto y = static_cast<std::int64_t>(pixel % static_cast<std::uint64_t>(height)) - mask.place.y;
      pixels[static_cast<std::size_t>(y * mask.place.width + x)] = 1;
    }
  }
  return mask;
}

void check_runs(const Runs& runs, std::int32_t width, std::int32_t height) {
  const auto whole = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  const std::uint64_t sum = std::accumulate(runs.begin(), runs.end(), std::uint64_t{0});
  check(sum == whole, ErrorCode::bad_data, "mask: run lengths cover {} pixels, the picture has {}x{}", sum,
        width, height);
}

Runs unpacked_runs(std::string_view text, std::int32_t width, std::int32_t height) {
  const auto whole = static_cast<std::int64_t>(width) * height;
  Runs runs;
  for (std::size_t i = 0; i < text.size();) {
    std::int64_t value = 0;
    int shift = 0;
    for (bool more = true; more; shift += 5) {
      const int group = i < text.size() ? text[i++] - '0' : -1;
      check(group >= 0 && group < 64 && shift < 40, ErrorCode::bad_data,
            "mask: packed run lengths are damaged at character {}", i);
      value |= std::int64_t{group & 31} << shift;
      more = (group & 32) != 0;
      if (!more && (group & 16) != 0) value -= std::int64_t{32} << shift; // The sign bit.
    }
    if (runs.size() > 2) value += runs[runs.size() - 2];
    check(value >= 0 && value <= whole, ErrorCode::bad_data,
          "mask: packed run lengths cover {}, the picture has {} pixels", value, whole);
    runs.push_back(static_cast<std::uint32_t>(value));
  }
  check_runs(runs, width, height);
  return runs;
}

Runs runs_of_polygon(std::span<const double> corners, std::int32_t width, std::int32_t height,
                     const Limits& limits) {
  const std::size_t count = corners.size() / 2;
  const auto corner = [&](std::size_t i) {
    return Corner{rounded(corners[i % count * 2]), rounded(corners[i % count * 2 + 1])};
  };
  double length = 0;
  for (std::size_t i = 0; i < count; ++i)
    length += std::max(std::abs(corners[i * 2] - corners[(i + 1) % count * 2]),
                       std::abs(corners[i * 2 + 1] - corners[(i + 1) % count * 2 + 1]));
  check(std::isfinite(length), ErrorCode::bad_data, "mask: a polygon's corners are not finite");
  if (length * parts > static_cast<double>(limits.pixels))
    fail_limit("pixels", limits.pixels, "mask: a polygon's edge of {:.0f} pixels", length);
  check_deadline(); // Many short polygons take as long as one long edge.
  Crossings crossings(width, height);
  for (std::size_t i = 0; i < count; ++i)
    if (!crossings.misses(corner(i), corner(i + 1)))
      walk_edge(corner(i), corner(i + 1), [&](const Corner& point) { crossings.visit(point); });
  return crossings.finish();
}

} // namespace lanner::tasks
