#include "backends/movement/box_plan.h"

#include <algorithm>

namespace lanner::cuda {
namespace {

/// Shorter axes leave most threads of a tile idle.
constexpr std::int64_t shortest_edge = 8;

void drop_axis(Box& box, std::size_t axis) {
  const auto drop = [&](std::vector<std::int64_t>& list) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(axis));
  };
  drop(box.sizes);
  drop(box.source_strides);
  drop(box.target_strides);
}

} // namespace

std::optional<BoxParameters> box_parameters(const Box& box) {
  if (box.sizes.size() > max_box_axes) return std::nullopt;
  BoxParameters parameters;
  parameters.rank = static_cast<int>(box.sizes.size());
  parameters.elements = box.elements();
  parameters.divides_fast = parameters.elements < divisor_limit;
  std::ranges::copy(box.sizes, parameters.sizes);
  std::ranges::copy(box.source_strides, parameters.source);
  std::ranges::copy(box.target_strides, parameters.target);
  if (parameters.divides_fast)
    for (std::size_t axis = 0; axis < box.sizes.size(); ++axis)
      parameters.divisors[axis] = divisor_of(box.sizes[axis]);
  return parameters;
}

std::int64_t elements_at_once(const Box& box, std::int64_t most) {
  if (box.sizes.empty() || box.source_strides.back() != 1 || box.target_strides.back() != 1) return 1;
  const auto divides = [&](std::int64_t count) {
    const auto all = [&](const std::vector<std::int64_t>& strides) {
      return std::all_of(strides.begin(), strides.end() - 1,
                         [&](std::int64_t stride) { return stride % count == 0; });
    };
    return box.sizes.back() % count == 0 && box.source_offset % count == 0 &&
           box.target_offset % count == 0 && all(box.source_strides) && all(box.target_strides);
  };
  std::int64_t count = most;
  while (count > 1 && !divides(count)) count /= 2;
  return count;
}

Box in_groups(const Box& given, std::int64_t count) {
  Box box = given;
  for (std::size_t axis = 0; axis + 1 < box.sizes.size(); ++axis) {
    box.source_strides[axis] /= count;
    box.target_strides[axis] /= count;
  }
  if (!box.sizes.empty()) box.sizes.back() /= count;
  box.source_offset /= count;
  box.target_offset /= count;
  return box;
}

std::int64_t tile_group(const Box& box, std::int64_t most) {
  const auto divides = [&](std::int64_t count) {
    const auto fits = [&](std::int64_t stride) { return stride == 1 || stride % count == 0; };
    for (std::size_t axis = 0; axis < box.sizes.size(); ++axis) {
      const bool tiled = box.source_strides[axis] == 1 || box.target_strides[axis] == 1;
      if (tiled && box.sizes[axis] % count != 0) return false;
      if (!fits(box.source_strides[axis]) || !fits(box.target_strides[axis])) return false;
    }
    return box.source_offset % count == 0 && box.target_offset % count == 0;
  };
  std::int64_t count = most;
  while (count > 1 && !divides(count)) count /= 2;
  return count;
}

std::optional<TileParameters> tile_parameters(const Box& box, int edge) {
  const auto dense = [](const std::vector<std::int64_t>& strides) {
    return static_cast<std::size_t>(std::ranges::find(strides, 1) - strides.begin());
  };
  const std::size_t axes = box.sizes.size(), row = dense(box.source_strides),
                    column = dense(box.target_strides);
  if (row >= axes || column >= axes || row == column) return std::nullopt;
  if (box.sizes[row] < shortest_edge || box.sizes[column] < shortest_edge) return std::nullopt;
  TileParameters p;
  p.rows = box.sizes[row];
  p.columns = box.sizes[column];
  p.row_target = box.target_strides[row];
  p.column_source = box.source_strides[column];
  p.row_tiles = (p.rows + edge - 1) / edge;
  p.column_tiles = (p.columns + edge - 1) / edge;
  Box outer = box;
  drop_axis(outer, std::max(row, column));
  drop_axis(outer, std::min(row, column));
  const auto parameters = box_parameters(outer);
  if (!parameters) return std::nullopt;
  p.outer = *parameters;
  return p;
}

} // namespace lanner::cuda
