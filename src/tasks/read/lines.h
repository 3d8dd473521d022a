#pragma once
// Interpolates pixels of a picture line by line, in the order of a map's rows: pixels between two map rows
// are interpolated across once, and this is shared by every line between these rows.

#include <span>
#include <vector>

#include "base/limits/account.h"
#include "tasks/read/arithmetic.h"
#include "tasks/read/grid.h"

namespace lanner::tasks {

/// Lines are rows of the picture or, after an odd number of quarter turns, columns.
struct LineGrid {
  /// For a part of the grid's pixels.
  LineGrid(const PixelGrid& grid, const PixelRect& part) {
    const auto across = grid.columns().subspan(static_cast<std::size_t>(part.x),
                                               static_cast<std::size_t>(part.width)),
               down = grid.rows().subspan(static_cast<std::size_t>(part.y),
                                          static_cast<std::size_t>(part.height));
    lines = grid.turned() ? across : down;
    positions = grid.turned() ? down : across;
    line_step = grid.turned() ? 1 : part.width;
    position_step = grid.turned() ? part.width : 1;
    while (first < count() && !positions[static_cast<std::size_t>(first)].inside) ++first;
    last = first;
    while (last < count() && positions[static_cast<std::size_t>(last)].inside) ++last;
  }
  std::int64_t count() const { return static_cast<std::int64_t>(positions.size()); }
  std::int64_t at(std::int64_t line, std::int64_t position) const {
    return line * line_step + position * position_step;
  }

  std::span<const Tap> lines, positions;         ///< Taps down the map, and across it.
  std::int64_t line_step = 0, position_step = 0; ///< In a row-major image of the part.
  std::int64_t first = 0, last = 0;              ///< Range that the network saw.
};

/// Interpolates `count` numbers between two rows of a map.
struct RowPair {
  const float* top;
  const float* bottom;
  float share; ///< Weight of the lower one.
  float at(std::int64_t position) const { return between(top[position], bottom[position], share); }
};

/// Calls line(number, pair) for each line that the network saw. `row(y)` must return row y of the map,
/// indexed by its columns, valid until the next call.
template<typename Row, typename Line>
void for_each_line(const LineGrid& grid, Row&& row, Line&& line) {
  std::vector<float> blended[2];
  std::int32_t held[2] = {-1, -1};
  const auto blend = [&](std::int32_t y) {
    const std::size_t slot = static_cast<std::size_t>(y % 2); // Two adjacent rows use one each.
    if (held[slot] != y) {
      blended[slot].resize(grid.positions.size());
      const float* const from = row(y);
      float* const to = blended[slot].data();
      for (std::int64_t i = grid.first; i < grid.last; ++i) {
        const Tap& tap = grid.positions[static_cast<std::size_t>(i)];
        to[i] = between(from[tap.low], from[tap.high], tap.share);
      }
      held[slot] = y;
    }
    return blended[slot].data();
  };
  for (std::size_t i = 0; i < grid.lines.size(); ++i) {
    const Tap& tap = grid.lines[i];
    if (!tap.inside) continue;
    if (i % 64 == 0) check_deadline();
    const float* const top = blend(tap.low);
    line(static_cast<std::int64_t>(i), RowPair{top, blend(tap.high), tap.share});
  }
}

} // namespace lanner::tasks
