// Draws masks of objects.

#include <algorithm>
#include <cmath>
#include <vector>

#include "tasks/draw/blend.h"
#include "tasks/draw/style.h"

namespace lanner {
namespace {

/// A pixel's coverage, from the number of inside pixels in a window around it. Across a straight edge that
/// number grows linearly, so it gives the distance from the edge. A pixel of a part that is thinner than the
/// window lies at its edge.
struct EdgeTable {
  EdgeTable(std::int32_t radius, float half_line) : whole((2 * radius + 1) * (2 * radius + 1)) {
    const std::int32_t side = 2 * radius + 1;
    for (const bool inside : {false, true})
      for (std::int32_t count = 0; count <= whole; ++count) {
        const float share = static_cast<float>(count) / static_cast<float>(whole);
        float distance = (share - 0.5f) * static_cast<float>(side);
        if (inside) distance = std::max(distance, 0.f);
        fill[inside].push_back(as_byte(0.5f + distance));
        line[inside].push_back(as_byte(half_line + 0.5f - std::abs(distance)));
      }
  }
  static std::uint8_t as_byte(float share) {
    return static_cast<std::uint8_t>(std::clamp(share, 0.f, 1.f) * 255 + 0.5f);
  }
  std::int32_t whole; ///< Pixels of the window.
  std::vector<std::uint8_t> fill[2], line[2];
};

/// Counts the mask's pixels in the square around each pixel of a row, row by row downwards. Beyond the
/// picture's border the mask's edge pixels repeat, so that no edge is drawn there.
class WindowCounts {
public:
  WindowCounts(const Mask& mask, std::int32_t radius, std::int32_t width, std::int32_t height)
      : place_(mask.place), pixels_(static_cast<const std::uint8_t*>(mask.inside.data())), radius_(radius),
        open_left_(place_.x == 0), open_right_(place_.x + place_.width == width), open_top_(place_.y == 0),
        open_bottom_(place_.y + place_.height == height),
        columns_(static_cast<std::size_t>(place_.width) + 4 * static_cast<std::size_t>(radius)),
        counts_(static_cast<std::size_t>(place_.width) + 2 * static_cast<std::size_t>(radius)) {}

  /// Counts for the pixels from `radius` left of the mask to `radius` right of it. Rows must be requested one
  /// by
  /// one.
  const std::vector<std::uint16_t>& row(std::int32_t y) {
    if (started_) {
      add(y + radius_, 1);
      add(y - radius_ - 1, -1);
    } else {
      for (std::int32_t near = y - radius_; near <= y + radius_; ++near) add(near, 1);
      started_ = true;
    }
    const std::int32_t side = 2 * radius_ + 1;
    spread();
    int count = 0;
    for (std::int32_t x = 0; x < side - 1; ++x) count += columns_[static_cast<std::size_t>(x)];
    for (std::size_t x = 0; x < counts_.size(); ++x) {
      count += columns_[x + static_cast<std::size_t>(side) - 1];
      counts_[x] = static_cast<std::uint16_t>(count);
      count -= columns_[x];
    }
    return counts_;
  }
  const std::uint8_t* pixels(std::int32_t y) const {
    const std::int32_t within = y - place_.y;
    return within < 0 || within >= place_.height ? nullptr
                                                 : pixels_ + static_cast<std::int64_t>(within) * place_.width;
  }

private:
  void add(std::int32_t y, int sign) {
    if (open_top_) y = std::max(y, place_.y);
    if (open_bottom_) y = std::min(y, place_.y + place_.height - 1);
    const std::uint8_t* from = pixels(y);
    if (!from) return;
    std::uint16_t* to = columns_.data() + 2 * radius_;
#pragma omp simd
    for (std::int32_t x = 0; x < place_.width; ++x)
      to[x] = static_cast<std::uint16_t>(to[x] + (from[x] != 0 ? sign : 0));
  }
  void spread() {
    const auto beside = 2 * static_cast<std::ptrdiff_t>(radius_);
    if (open_left_) std::fill_n(columns_.begin(), beside, columns_[static_cast<std::size_t>(beside)]);
    if (open_right_) std::fill(columns_.end() - beside, columns_.end(), *(columns_.end() - beside - 1));
  }

  PixelRect place_;
  const std::uint8_t* pixels_;
  std::int32_t radius_;
  bool open_left_, open_right_, open_top_, open_bottom_, started_ = false;
  std::vector<std::uint16_t> columns_, counts_;
};

} // namespace

void draw_mask(Canvas& canvas, const DrawStyle& style, const Mask& mask, Color color) {
  const PixelRect& place = mask.place;
  if (place.width == 0 || place.height == 0) return;
  const float half = std::min(std::max(0.75f, style.line * 0.4f), 20.f);
  const std::int32_t radius = static_cast<std::int32_t>(std::ceil(half)) + 1;
  const EdgeTable table(radius, half);
  WindowCounts counts(mask, radius, canvas.width(), canvas.height());
  const PixelColor pixel(color);
  const int share = share_of(style.opacity), line_share = share_of(0.9f);
  const std::int32_t left = std::max(0, place.x - radius), top = std::max(0, place.y - radius),
                     right = std::min(canvas.width(), place.x + place.width + radius),
                     bottom = std::min(canvas.height(), place.y + place.height + radius);
  for (std::int32_t y = top; y < bottom; ++y) {
    const std::uint16_t* row = counts.row(y).data() + (radius - place.x);
    const std::uint8_t* inside = counts.pixels(y);
    std::byte* pixels = canvas.row(y);
    for (std::int32_t x = left; x < right;) {
      const std::uint16_t count = row[x];
      if (count == 0 || count == table.whole) {
        const std::int32_t start = x;
        while (x < right && row[x] == count) ++x;
        if (count != 0) blend_span(pixels + 3 * start, x - start, pixel, share);
        continue;
      }
      const std::int32_t within = x - place.x;
      const bool is_inside = inside && within >= 0 && within < place.width && inside[within] != 0;
      blend_pixel(pixels + 3 * x, pixel, covered_share(table.fill[is_inside][count], share));
      blend_pixel(pixels + 3 * x, pixel, covered_share(table.line[is_inside][count], line_share));
      ++x;
    }
  }
}

} // namespace lanner
