#pragma once
// Addresses of a box's elements, in device code.

#include "backends/movement/box_kernel.h"

namespace lanner::cuda {

struct BoxOffsets {
  std::int64_t from = 0, to = 0;
};

/// Of element number `element`.
__device__ inline BoxOffsets offsets_of(std::int64_t element, const BoxParameters& box) {
  BoxOffsets offsets;
  if (box.divides_fast) {
    auto rest = static_cast<std::uint32_t>(element);
    for (int axis = box.rank - 1; axis >= 0; --axis) {
      const std::uint32_t outer = box.divisors[axis].quotient(rest);
      const std::int64_t index = rest - outer * static_cast<std::uint32_t>(box.sizes[axis]);
      offsets.from += index * box.source[axis];
      offsets.to += index * box.target[axis];
      rest = outer;
    }
    return offsets;
  }
  for (int axis = box.rank - 1; axis >= 0; --axis) {
    const std::int64_t outer = element / box.sizes[axis], index = element - outer * box.sizes[axis];
    offsets.from += index * box.source[axis];
    offsets.to += index * box.target[axis];
    element = outer;
  }
  return offsets;
}

} // namespace lanner::cuda
