#include "backends/storage_layout.h"

#include <algorithm>
#include <cstring>

#include "tensor/layout_offsets.h"

namespace lanner {
namespace {

/// Zeroes those of the `count` elements of `axes` whose index along `dim`, counted from `start`, is `size` or
/// more.
void clear_tail(std::byte* data, std::span<const MemoryAxis> axes, std::size_t dim, std::int64_t start,
                std::int64_t size, std::size_t element) {
  if (axes.empty()) {
    if (start >= size) std::memset(data, 0, element);
    return;
  }
  const MemoryAxis& axis = axes.front();
  for (std::int64_t i = 0; i < axis.size; ++i)
    clear_tail(data + i * axis.stride * static_cast<std::int64_t>(element), axes.subspan(1), dim,
               start + (axis.dim == dim ? i * axis.step : 0), size, element);
}

} // namespace

std::vector<MemoryAxis> memory_axes(const Layout& layout, const Shape& shape) {
  Shape outer = layout.padded(shape);
  std::vector<MemoryAxis> axes;
  for (auto block = layout.blocks.rbegin(); block != layout.blocks.rend(); ++block) {
    std::int64_t step = 1;
    for (const MemoryAxis& inner : axes)
      if (inner.dim == block->dim) step *= inner.size;
    axes.push_back({block->dim, block->size, step, 0});
    outer[block->dim] /= block->size;
  }
  std::vector<std::size_t> order = outer_order(layout, shape.rank());
  std::reverse(order.begin(), order.end());
  for (std::size_t dim : order) {
    std::int64_t step = 1;
    for (const MemoryAxis& inner : axes)
      if (inner.dim == dim) step *= inner.size;
    axes.push_back({dim, outer[dim], step, 0});
  }
  std::int64_t stride = 1;
  for (MemoryAxis& axis : axes) {
    axis.stride = stride;
    stride *= std::max<std::int64_t>(axis.size, 1);
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

Layout canonical(const Layout& layout, const Shape& shape) {
  if (layout.order.empty()) return layout;
  if (is_padded(layout, shape)) return layout;
  std::size_t last = 0;
  std::int64_t remaining = 0;
  for (const MemoryAxis& axis : memory_axes(layout, shape)) {
    if (axis.size == 1) continue;
    const bool continues = axis.dim == last && remaining == axis.size * axis.step;
    if (remaining != 0 && !continues && (axis.dim <= last || remaining != 1)) return layout;
    if (!continues && axis.size * axis.step != shape[axis.dim]) return layout;
    last = axis.dim;
    remaining = axis.step;
  }
  return {};
}

Layout operand_layout(const Layout& layout, std::size_t rank, const Shape& operand) {
  if (layout.order.empty() || operand.rank() == 0) return {};
  const std::size_t missing = rank - operand.rank();
  Layout result;
  for (std::uint8_t dim : layout.order)
    if (dim >= missing) result.order.push_back(static_cast<std::uint8_t>(dim - missing));
  for (const Layout::Block& block : layout.blocks)
    if (block.dim >= missing && operand[block.dim - missing] != 1)
      result.blocks.push_back({static_cast<std::uint8_t>(block.dim - missing), block.size});
  return canonical(result, operand);
}

bool is_padded(const Layout& layout, const Shape& shape) {
  return !layout.blocks.empty() && layout.padded(shape) != shape;
}

void clear_padding(void* data, const Layout& layout, const Shape& shape, std::size_t element) {
  if (!is_padded(layout, shape)) return;
  const Shape padded = layout.padded(shape);
  const std::vector<MemoryAxis> axes = memory_axes(layout, shape);
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (padded[dim] == shape[dim]) continue;
    std::vector<MemoryAxis> tail = axes;
    std::int64_t first = 0, offset = 0;
    for (MemoryAxis& axis : tail) {
      if (axis.dim != dim) continue;
      first = shape[dim] / axis.step; // The outer axis comes first: skip its whole blocks.
      offset = first * axis.stride;
      axis.size -= first;
      first *= axis.step;
      break;
    }
    clear_tail(static_cast<std::byte*>(data) + offset * static_cast<std::int64_t>(element), tail, dim, first,
               shape[dim], element);
  }
}

Storage stored(Layout layout) {
  Storage storage;
  storage.layout = std::move(layout);
  return storage;
}

} // namespace lanner
