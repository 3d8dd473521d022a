#include "tensor/layout_offsets.h"

#include <algorithm>
#include <numeric>

namespace lanner {

std::vector<std::size_t> outer_order(const Layout& layout, std::size_t rank) {
  std::vector<std::size_t> order(layout.order.begin(), layout.order.end());
  if (order.empty()) {
    order.resize(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  return order;
}

LayoutOffsets::LayoutOffsets(const Layout& layout, const Shape& shape)
    : dims_(shape.rank()), memory_order_(outer_order(layout, shape.rank())) {
  Shape outer = layout.padded(shape);
  (void)outer.elements(); // Rejects sizes whose strides would overflow.
  std::int64_t stride = 1;
  for (auto block = layout.blocks.rbegin(); block != layout.blocks.rend(); ++block) {
    dims_[block->dim].blocks.push_back({block->size, stride});
    outer[block->dim] /= block->size;
    stride *= block->size;
  }
  for (auto dim = memory_order_.rbegin(); dim != memory_order_.rend(); ++dim) {
    dims_[*dim].stride = stride;
    stride *= std::max<std::int64_t>(outer[*dim], 1);
  }
  for (const Layout::Block& block : layout.blocks) {
    const auto at = std::find(memory_order_.begin(), memory_order_.end(), block.dim);
    std::rotate(at, at + 1, memory_order_.end());
  }
}

} // namespace lanner
