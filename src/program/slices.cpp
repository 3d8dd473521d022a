#include "program/slices.h"

#include "backends/storage_layout.h"
#include "graph/storage/within.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

/// The layout with an explicit order of axes.
Layout spelled(const Layout& layout, std::size_t rank) {
  Layout result = layout;
  for (std::size_t d = 0; result.order.size() < rank; ++d)
    result.order.push_back(static_cast<std::uint8_t>(d));
  return result;
}

std::int64_t block_of(const Layout& layout, std::size_t dim) {
  std::int64_t product = 1;
  for (const Layout::Block& block : layout.blocks)
    if (block.dim == dim) product *= block.size;
  return product;
}

/// Whether the axis is the outermost one with more than one element.
bool outermost(const Layout& layout, const Shape& shape, std::size_t axis) {
  const Shape padded = layout.padded(shape);
  for (const std::uint8_t dim : layout.order) {
    if (dim == axis) return true;
    if (padded[dim] != block_of(layout, dim)) return false;
  }
  return false;
}

bool same_but_for_layout(const StoredAs& whole, const StoredAs& part) {
  Storage expected = whole.storage;
  expected.layout = part.storage.layout;
  expected.within = part.storage.within;
  return same_storage(part.type, part.storage, expected);
}

/// Bytes of the vectors that kernels read.
constexpr std::int64_t strided_alignment = 16;

/// Offset of the first slice of a part that has several.
std::optional<std::int64_t> strided_offset(const StoredAs& whole, const StoredAs& part, std::size_t axis,
                                           std::int64_t start) {
  const Storage expected = strided_part(whole, axis);
  if (expected.within != part.storage.within || !whole.storage.layout.blocks.empty() ||
      !part.storage.layout.blocks.empty())
    return std::nullopt;
  const Shape shape = memory_shape(expected, whole.type.shape());
  const std::size_t rank = shape.rank();
  if (canonical(spelled(part.storage.layout, rank), shape) !=
      canonical(spelled(expected.layout, rank), shape))
    return std::nullopt;
  const DType type = whole.storage.dtype.value_or(whole.type.dtype());
  const auto step = memory_strides(expected, shape)[axis] * static_cast<std::int64_t>(bit_width(type) / 8);
  const bool aligned =
      start * step % strided_alignment == 0 && expected.within.size * step % strided_alignment == 0;
  return aligned ? std::optional(start * step) : std::nullopt;
}

} // namespace

Storage strided_part(const StoredAs& whole, std::size_t axis) {
  Storage storage = whole.storage;
  storage.parent = nullptr;
  storage.offset = 0;
  if (!storage.within) storage.within = {static_cast<int>(axis), whole.type.shape()[axis]};
  // A part of a value that is itself a part along another axis would need two strides.
  if (storage.within.axis != static_cast<int>(axis)) storage.within = {};
  return storage;
}

std::optional<std::int64_t> part_offset(const StoredAs& whole, const StoredAs& part, std::size_t axis,
                                        std::int64_t start) {
  const Shape shape = whole.type.shape(), size = part.type.shape();
  const DType type = whole.storage.dtype.value_or(whole.type.dtype());
  if (whole.storage.quantization || part.storage.quantization || !same_but_for_layout(whole, part) ||
      whole.type.dtype() != part.type.dtype() || bit_width(type) < 8 || size.rank() != shape.rank())
    return std::nullopt;
  if (part.storage.within) return strided_offset(whole, part, axis, start);
  if (whole.storage.within) return std::nullopt;
  const Layout layout = spelled(whole.storage.layout, shape.rank());
  const bool same = canonical(spelled(part.storage.layout, size.rank()), size) == canonical(layout, size);
  if (!same || !outermost(layout, shape, axis)) return std::nullopt;
  const std::int64_t block = block_of(layout, axis), end = start + size[axis];
  if (start % block != 0 || (end % block != 0 && end != shape[axis])) return std::nullopt;
  std::vector<std::int64_t> before = shape.dims();
  before[axis] = start;
  const auto offset = static_cast<std::int64_t>(layout.bytes(Shape(std::move(before)), type));
  const std::int64_t alignment = whole.storage.device.is_host() ? 64 : 256;
  return offset % alignment == 0 ? std::optional(offset) : std::nullopt;
}

} // namespace lanner
