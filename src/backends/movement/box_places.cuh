#pragma once
// Addresses of a box's elements, in device code.

#include "backends/movement/box_kernel.h"

namespace lanner::cuda {

struct Places {
  std::int64_t from = 0, to = 0;
};

/// Of element number `element`.
__device__ inline Places places_of(std::int64_t element, const BoxParameters& box) {
  Places places;
  if (box.divides_fast) {
    auto rest = static_cast<std::uint32_t>(element);
    for (int axis = box.rank - 1; axis >= 0; --axis) {
      const std::uint32_t outer = box.divisors[axis].quotient(rest);
      const std::int64_t index = rest - outer * static_cast<std::uint32_t>(box.sizes[axis]);
      places.from += index * box.source[axis];
      places.to += index * box.target[axis];
      rest = outer;
    }
    return places;
  }
  for (int axis = box.rank - 1; axis >= 0; --axis) {
    const std::int64_t outer = element / box.sizes[axis], index = element - outer * box.sizes[axis];
    places.from += index * box.source[axis];
    places.to += index * box.target[axis];
    element = outer;
  }
  return places;
}

} // namespace lanner::cuda
