#include "backends/reduction/row_parameters.h"

#include <algorithm>

#include "backends/movement/box_plan.h"
#include "ops/reduction/reduce_plan.h"

namespace lanner::cuda {
namespace {

constexpr unsigned warp = 32, block = 256;
/// Longer rows are shared by a block, and then by a large block.
constexpr std::int64_t longest_of_warp = warp * most_held, longest_of_block = 16384;

/// The fewest threads that hold the row in few registers each, a warp for longer ones; 0: a block.
int team_of(std::int64_t length) {
  if (length > longest_of_warp) return 0;
  int team = 1;
  while (team < static_cast<int>(warp) && team * few_held < length) team *= 2;
  return team;
}

bool divides(std::int64_t count, int axes, const std::int64_t* strides) {
  return std::all_of(strides, strides + axes, [&](std::int64_t stride) { return stride % count == 0; });
}

} // namespace

void add_axis(RowParameters& p, bool inner, const RowAxis& axis) {
  int& axes = inner ? p.inner : p.kept;
  auto* const sizes = inner ? p.inner_sizes : p.kept_sizes;
  auto* const source = inner ? p.inner_source : p.kept_source;
  auto* const target = inner ? p.inner_target : p.kept_target;
  (inner ? p.length : p.rows) *= axis.size;
  if (axis.size == 1) return;
  const int last = axes - 1;
  if (axes > 0 && source[last] == axis.size * axis.source && target[last] == axis.size * axis.target) {
    sizes[last] *= axis.size;
    source[last] = axis.source;
    target[last] = axis.target;
    return;
  }
  sizes[axes] = axis.size;
  source[axes] = axis.source;
  target[axes] = axis.target;
  ++axes;
}

RowParameters row_parameters(const RowAxes& rows, const StoredShape& source, const StoredShape& result) {
  const std::size_t rank = source.shape.rank();
  const std::vector<bool> inner = ops::reduced_flags(rows.axes, rank);
  const std::vector<std::int64_t> from = source.layout.strides(source.shape),
                                  to = result.layout.strides(result.shape);
  const bool dropped = result.shape.rank() != rank;
  RowParameters p;
  std::size_t next = 0; // Of the result's axes.
  for (std::size_t axis = 0; axis < rank; ++axis) {
    // A row that becomes one element has no inner stride in the target: strides of axes of size 1 would keep
    // its axes from merging.
    const bool one = inner[axis] && !rows.writes_rows;
    const std::int64_t stride = one ? 0 : to[next];
    if (!dropped || !one) ++next;
    add_axis(p, inner[axis], {source.shape[axis], from[axis], stride});
  }
  return p;
}

std::optional<DenseRowParameters> dense_rows(const RowParameters& p, std::int64_t bytes, bool writes_rows) {
  const bool dense =
      p.inner == 0 || (p.inner == 1 && p.inner_source[0] == 1 && (!writes_rows || p.inner_target[0] == 1));
  if (!dense || p.length >= divisor_limit) return std::nullopt;
  const std::size_t axes = static_cast<std::size_t>(p.kept);
  const auto rows = box_parameters({.sizes = {p.kept_sizes, p.kept_sizes + axes},
                                    .source_strides = {p.kept_source, p.kept_source + axes},
                                    .target_strides = {p.kept_target, p.kept_target + axes}});
  if (!rows) return std::nullopt;
  const std::int64_t pack = 16 / bytes;
  return DenseRowParameters{.rows = *rows,
                            .length = p.length,
                            .team = team_of(p.length),
                            .in_packs = p.length % pack == 0 && divides(pack, p.kept, p.kept_source) &&
                                        (!writes_rows || divides(pack, p.kept, p.kept_target))};
}

Grid dense_grid(const Gpu& gpu, const DenseRowParameters& p) {
  const unsigned threads = p.length > longest_of_block ? 1024 : block;
  const std::int64_t rows_each = p.team > 0 ? static_cast<int>(block) / p.team : 1;
  const std::int64_t most = static_cast<std::int64_t>(gpu.multiprocessors()) * 32;
  return {static_cast<unsigned>(std::min((p.rows.elements + rows_each - 1) / rows_each, most)), threads, 0};
}

std::optional<DenseColumnParameters> dense_columns(const RowParameters& p, std::int64_t bytes) {
  const auto* const strides = p.kept_source;
  const auto along = std::find(strides, strides + p.kept, 1) - strides;
  if (p.inner != 1 || along == p.kept) return std::nullopt;
  Box outer;
  for (int axis = 0; axis < p.kept; ++axis) {
    if (axis == along) continue;
    outer.sizes.push_back(p.kept_sizes[axis]);
    outer.source_strides.push_back(p.kept_source[axis]);
    outer.target_strides.push_back(p.kept_target[axis]);
  }
  const auto sets = box_parameters(outer);
  if (!sets) return std::nullopt;
  DenseColumnParameters columns{.outer = *sets,
                                .length = p.length,
                                .step = p.inner_source[0],
                                .columns = p.kept_sizes[along],
                                .target_step = p.kept_target[along]};
  const std::int64_t pack = 16 / bytes;
  columns.in_packs =
      columns.columns % pack == 0 && columns.step % pack == 0 && divides(pack, sets->rank, sets->source);
  const std::int64_t side = columns.columns / (columns.in_packs ? pack : 1);
  while (columns.lanes < static_cast<int>(warp) && columns.lanes < side) columns.lanes *= 2;
  return columns;
}

Grid dense_grid(const Gpu& gpu, const DenseColumnParameters& p) {
  const std::int64_t groups = (p.columns + p.lanes - 1) / p.lanes; // At least as many as the kernel has.
  const std::int64_t most = static_cast<std::int64_t>(gpu.multiprocessors()) * 32;
  return {static_cast<unsigned>(std::clamp<std::int64_t>(p.outer.elements * groups, 1, most)), block, 0};
}

std::string_view held_prefix(const DenseRowParameters& p) {
  if (p.team == 0) return "dense_";
  return p.length <= p.team * few_held ? "few_" : "most_";
}

Grid row_grid(const Gpu& gpu, const RowParameters& p) {
  unsigned threads = 32;
  while (threads < 1024 && threads * 4 <= p.length) threads *= 2;
  const std::int64_t most = static_cast<std::int64_t>(gpu.multiprocessors()) * 32;
  return {static_cast<unsigned>(std::min(p.rows, most)), threads, 0};
}

} // namespace lanner::cuda
