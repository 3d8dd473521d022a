#include "tasks/read/grid.h"

#include <algorithm>
#include <cmath>

namespace lanner::tasks {
namespace {

/// `position` in pixels of the input; the map has `size` elements for `length` pixels from `start` on.
Tap tap_of(double position, double limit, double start, double length, std::int64_t size) {
  Tap tap;
  tap.inside = position >= 0 && position < limit && length > 0;
  const double last = static_cast<double>(size - 1);
  const double element =
      tap.inside ? std::clamp((position - start) / length * static_cast<double>(size) - 0.5, 0.0, last) : 0;
  tap.low = static_cast<std::int32_t>(element);
  tap.high = std::min(tap.low + 1, static_cast<std::int32_t>(size) - 1);
  tap.share = static_cast<float>(element - tap.low);
  return tap;
}

} // namespace

PixelGrid::PixelGrid(const Placement& placement, const PixelRect& part, const MapArea& area,
                     std::int64_t width, std::int64_t height, std::int64_t columns, std::int64_t rows)
    : turned_(placement.xx == 0 && placement.xy != 0) {
  const auto across = [&](double position) {
    return tap_of(position, static_cast<double>(width), area.left, area.width, columns);
  };
  const auto down = [&](double position) {
    return tap_of(position, static_cast<double>(height), area.top, area.height, rows);
  };
  of_columns_.resize(at(part.width));
  of_rows_.resize(at(part.height));
  for (std::int32_t x = 0; x < part.width; ++x) {
    const double centre = part.x + x + 0.5;
    of_columns_[at(x)] =
        turned_ ? down(placement.yx * centre + placement.y) : across(placement.xx * centre + placement.x);
  }
  for (std::int32_t y = 0; y < part.height; ++y) {
    const double centre = part.y + y + 0.5;
    of_rows_[at(y)] =
        turned_ ? across(placement.xy * centre + placement.x) : down(placement.yy * centre + placement.y);
  }
}

PixelGrid::Bounds PixelGrid::bounds() const {
  return bounds(
      {0, 0, static_cast<std::int32_t>(of_columns_.size()), static_cast<std::int32_t>(of_rows_.size())});
}

PixelGrid::Bounds PixelGrid::bounds(const PixelRect& part) const {
  const auto range = [](std::span<const Tap> taps, std::int32_t& low, std::int32_t& high) {
    bool any = false;
    for (const Tap& tap : taps) {
      if (!tap.inside) continue;
      low = any ? std::min(low, tap.low) : tap.low;
      high = any ? std::max(high, tap.high) : tap.high;
      any = true;
    }
  };
  Bounds found;
  const auto across = columns().subspan(at(part.x), at(part.width)),
             down = rows().subspan(at(part.y), at(part.height));
  range(turned_ ? down : across, found.left, found.right);
  range(turned_ ? across : down, found.top, found.bottom);
  return found;
}

InputGeometry input_geometry(const Preprocess& spec, std::int32_t width, std::int32_t height) {
  const Shape shape = output_shape(spec, width, height);
  const std::size_t row = spec.channels_last ? 0 : 1;
  return {placement(spec, width, height), shape[row + 1], shape[row]};
}

} // namespace lanner::tasks
