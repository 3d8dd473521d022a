#pragma once
// Helpers for layouts: canonical form, iteration, padding.

#include <cstdint>
#include <vector>

#include <lanner/layout.h>
#include <lanner/shape.h>

#include "graph/storage/storage.h"

namespace lanner {

/// One loop of an iteration over memory, outermost first: `size` steps, each of which advances `step` along
/// logical `dim` and `stride` elements in memory.
struct MemoryAxis {
  std::size_t dim;
  std::int64_t size, step, stride;
};
/// The loops that visit every element of `shape` in `layout`, padding included, in memory order.
std::vector<MemoryAxis> memory_axes(const Layout& layout, const Shape& shape);

/// The canonical form of a layout: row-major (empty) when `layout` orders the elements of `shape` as
/// row-major does (sizes of 1 count for nothing) and adds no padding; else `layout`. Kernels offer storages
/// in this form only, so that equal orders compare equal.
Layout canonical(const Layout& layout, const Shape& shape);

/// The layout in which a broadcast operand follows `layout` over a result of rank `rank`: dims are aligned at
/// the last one, and those of size 1 lose their blocks.
Layout operand_layout(const Layout& layout, std::size_t rank, const Shape& operand);

/// Whether there is padding.
bool is_padded(const Layout& layout, const Shape& shape);

/// Zeroes the padding. `element` is the size of an element in bytes.
void clear_padding(void* data, const Layout& layout, const Shape& shape, std::size_t element);

/// A default storage but for its layout.
Storage stored(Layout layout);

} // namespace lanner
