#include "backends/movement/box.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace lanner {

std::int64_t Box::elements() const {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  return count;
}

Box simplified(Box box) {
  std::vector<std::size_t> order(box.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t axis) { return box.sizes[axis] == 1; });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(box.target_strides[a]) > std::abs(box.target_strides[b]);
  });
  Box result;
  result.source_offset = box.source_offset;
  result.target_offset = box.target_offset;
  for (std::size_t axis : order) {
    const std::int64_t size = box.sizes[axis], from = box.source_strides[axis], to = box.target_strides[axis];
    if (!result.sizes.empty() && result.source_strides.back() == from * size &&
        result.target_strides.back() == to * size) {
      result.sizes.back() *= size;
      result.source_strides.back() = from;
      result.target_strides.back() = to;
      continue;
    }
    result.sizes.push_back(size);
    result.source_strides.push_back(from);
    result.target_strides.push_back(to);
  }
  // The source's dense axis is put next to the innermost one, so that both are walked in square tiles.
  const std::size_t rank = result.sizes.size();
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    if (result.source_strides[axis] != 1 || result.source_strides[rank - 1] == 1) continue;
    const auto last = [&](std::vector<std::int64_t>& list) {
      std::rotate(list.begin() + static_cast<std::ptrdiff_t>(axis),
                  list.begin() + static_cast<std::ptrdiff_t>(axis) + 1, list.end() - 1);
    };
    last(result.sizes);
    last(result.source_strides);
    last(result.target_strides);
    break;
  }
  return result;
}

} // namespace lanner
