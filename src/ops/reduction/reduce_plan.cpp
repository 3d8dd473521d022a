#include "ops/reduction/reduce_plan.h"

#include "ops/convolution/window.h"
#include "ops/definition/rows.h"

namespace lanner::ops {

std::vector<bool> reduced_flags(std::span<const std::size_t> axes, std::size_t rank) {
  std::vector<bool> flags(rank, false);
  for (const std::size_t axis : axes) flags[axis] = true;
  return flags;
}

/// Row-major offsets of all positions over `sizes` with `strides`.
static CountedVector<std::int64_t> offsets_over(const std::vector<std::int64_t>& sizes,
                                                const std::vector<std::int64_t>& strides) {
  CountedVector<std::int64_t> offsets;
  const std::int64_t count = Window::product_of(sizes);
  if (count == 0) return offsets;
  offsets.reserve(static_cast<std::size_t>(count));
  std::vector<std::int64_t> index(sizes.size(), 0);
  do {
    if (offsets.size() % rows_between_checks == 0) check_deadline();
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) offset += index[d] * strides[d];
    offsets.push_back(offset);
  } while (next_index(index, sizes));
  return offsets;
}

ReducePlan plan_reduce(const Shape& shape, std::span<const std::size_t> axes) {
  const std::vector<bool> reduced = reduced_flags(axes, shape.rank());
  const std::vector<std::int64_t> dense = dense_strides(shape);
  std::vector<std::int64_t> kept_sizes, kept_strides, sizes, strides;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    (reduced[d] ? sizes : kept_sizes).push_back(shape[d]);
    (reduced[d] ? strides : kept_strides).push_back(dense[d]);
  }
  ReducePlan plan;
  if (!sizes.empty()) {
    plan.run = sizes.back();
    plan.stride = strides.back();
    sizes.pop_back();
    strides.pop_back();
  }
  plan.results = offsets_over(kept_sizes, kept_strides);
  if (plan.results.empty()) return plan;
  plan.runs = offsets_over(sizes, strides);
  return plan;
}

} // namespace lanner::ops
