#include "tasks/read/class_lines.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace lanner::tasks {
namespace {

constexpr std::int64_t together = 64; ///< Pixels of a line that are interpolated together.
constexpr std::int32_t mixed = -2;    ///< Interpolation between positions of several classes.

// Compilers do not vectorise a loop that selects, so vectors are written out.
using Four = float __attribute__((vector_size(16), may_alias));
using FourNumbers = std::int32_t __attribute__((vector_size(16), may_alias));
constexpr std::int64_t fours = together / 4;

/// The class of each map position.
std::vector<std::int32_t> best_classes(const MapValues& map) {
  std::vector<std::int32_t> best(static_cast<std::size_t>(map.height * map.width));
  std::vector<float> most(static_cast<std::size_t>(map.width)),
      buffer(static_cast<std::size_t>(std::max(map.width, map.channels)));
  for (std::int64_t y = 0; y < map.height; ++y) {
    check_deadline();
    std::int32_t* const row = best.data() + y * map.width;
    if (map.channel == 1) { // Channels side by side.
      for (std::int64_t x = 0; x < map.width; ++x) {
        const float* scores = map.values.run(y * map.row + x * map.column, map.channels, buffer.data());
        row[x] = static_cast<std::int32_t>(std::max_element(scores, scores + map.channels) - scores);
      }
      continue;
    }
    std::ranges::fill(most, -std::numeric_limits<float>::infinity());
    float* const top = most.data();
    for (std::int64_t c = 0; c < map.channels; ++c) {
      const float* scores = map.values.run(c * map.channel + y * map.row, map.width, buffer.data());
      const auto label = static_cast<std::int32_t>(c);
#pragma omp simd
      for (std::int64_t x = 0; x < map.width; ++x) {
        const bool better = scores[x] > top[x];
        row[x] = better ? label : row[x];
        top[x] = better ? scores[x] : top[x];
      }
    }
  }
  return best;
}

class ClassLines {
public:
  ClassLines(const MapValues& map, const LineGrid& grid, const Limits& limits)
      : map_(map), grid_(grid), best_(best_classes(map)), parts_((grid.count() + together - 1) / together),
        cells_(static_cast<std::size_t>(map.width)) {
    // Two adjacent rows use one half each.
    blended_ = Tensor::allocate(DType::f32, {2, parts_, map.channels, together}, {}, {}, limits);
    for (auto& held : held_) held.assign(static_cast<std::size_t>(parts_), -1);
  }

  void read(std::int32_t* to) {
    for (std::size_t i = 0; i < grid_.lines.size(); ++i) {
      const Tap& down = grid_.lines[i];
      if (!down.inside) continue;
      if (i % 16 == 0) check_deadline();
      find_cells(down);
      for (std::int64_t part = grid_.first / together; part * together < grid_.last; ++part)
        read_part(part, down, static_cast<std::int64_t>(i), to);
    }
  }

private:
  /// Between two rows: the class of pixels between two columns.
  void find_cells(const Tap& down) {
    if (down.low == row_) return;
    row_ = down.low;
    const std::int32_t* const top = best_.data() + std::int64_t{down.low} * map_.width;
    const std::int32_t* const bottom = best_.data() + std::int64_t{down.high} * map_.width;
    for (std::int64_t x = 0; x < map_.width; ++x) {
      const std::int64_t next = std::min(x + 1, map_.width - 1);
      const bool one = top[x] == top[next] && top[x] == bottom[x] && top[x] == bottom[next];
      cells_[static_cast<std::size_t>(x)] = one ? top[x] : mixed;
    }
  }

  void read_part(std::int64_t part, const Tap& down, std::int64_t line, std::int32_t* to) {
    const std::int64_t from = std::max(part * together, grid_.first),
                       end = std::min((part + 1) * together, grid_.last);
    bool any = false;
    for (std::int64_t position = from; position < end; ++position) {
      const std::int32_t cell = cell_at(position);
      to[grid_.at(line, position)] = cell;
      any |= cell == mixed;
    }
    if (!any) return;
    std::int32_t chosen[together];
    choose(blended(part, down.low), blended(part, down.high), down.share, chosen);
    for (std::int64_t position = from; position < end; ++position)
      if (cell_at(position) == mixed) to[grid_.at(line, position)] = chosen[position - part * together];
  }

  std::int32_t cell_at(std::int64_t position) const {
    return cells_[static_cast<std::size_t>(grid_.positions[static_cast<std::size_t>(position)].low)];
  }

  static Four all(float value) { return Four{value, value, value, value}; }

  void choose(const float* top, const float* bottom, float share, std::int32_t* chosen) const {
    Four most[fours];
    FourNumbers labels[fours];
    std::fill_n(most, fours, all(-std::numeric_limits<float>::infinity()));
    std::fill_n(labels, fours, FourNumbers{});
    const Four part = all(share);
    for (std::int64_t c = 0; c < map_.channels; ++c, top += together, bottom += together) {
      const auto number = static_cast<std::int32_t>(c);
      const FourNumbers label{number, number, number, number};
      const auto* const above = reinterpret_cast<const Four*>(top);
      const auto* const below = reinterpret_cast<const Four*>(bottom);
      for (std::int64_t i = 0; i < fours; ++i) {
        const Four score = above[i] + part * (below[i] - above[i]);
        const auto better = score > most[i];
        labels[i] = better ? label : labels[i];
        most[i] = better ? score : most[i];
      }
    }
    std::memcpy(chosen, labels, sizeof labels);
  }

  /// Scores [channels, together] of a part of row `y`, interpolated across.
  const float* blended(std::int64_t part, std::int32_t y) {
    const std::size_t slot = static_cast<std::size_t>(y % 2);
    float* const to = blended_.as<float>().data() +
                      (static_cast<std::int64_t>(slot) * parts_ + part) * map_.channels * together;
    std::int32_t& held = held_[slot][static_cast<std::size_t>(part)];
    if (held != y) {
      blend(part, y, to);
      held = y;
    }
    return to;
  }

  void blend(std::int64_t part, std::int32_t y, float* to) {
    std::int32_t low[together], high[together];
    float share[together];
    std::int32_t left = INT32_MAX, right = 0;
    for (std::int64_t i = 0; i < together; ++i) { // Beyond the line's end its last position repeats.
      const std::int64_t position = std::clamp(part * together + i, grid_.first, grid_.last - 1);
      const Tap& tap = grid_.positions[static_cast<std::size_t>(position)];
      low[i] = tap.low, high[i] = tap.high, share[i] = tap.share;
      left = std::min(left, tap.low);
      right = std::max(right, tap.high);
    }
    const bool side_by_side = map_.channel == 1;
    const std::int64_t numbers = (right - left) * map_.column + (side_by_side ? map_.channels : 1);
    buffer_.resize(static_cast<std::size_t>(numbers));
    const float* from = nullptr;
    for (std::int64_t c = 0; c < map_.channels; ++c, to += together) {
      if (c == 0 || !side_by_side)
        from = map_.values.run(c * map_.channel + y * map_.row + left * map_.column, numbers, buffer_.data());
      else
        ++from;
      for (std::int64_t i = 0; i < together; ++i)
        to[i] = between(from[(low[i] - left) * map_.column], from[(high[i] - left) * map_.column], share[i]);
    }
  }

  const MapValues& map_;
  const LineGrid& grid_;
  const std::vector<std::int32_t> best_;
  const std::int64_t parts_;
  std::int32_t row_ = -1; ///< The beginning of cells_.
  std::vector<std::int32_t> cells_, held_[2];
  std::vector<float> buffer_;
  Tensor blended_;
};

} // namespace

void read_best_classes(const MapValues& map, const PixelGrid& grid, std::int32_t width, std::int32_t height,
                       const Limits& limits, std::int32_t* to) {
  const LineGrid lines(grid, {0, 0, width, height});
  if (lines.first < lines.last) ClassLines(map, lines, limits).read(to);
}

} // namespace lanner::tasks
