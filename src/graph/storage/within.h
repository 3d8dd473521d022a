#pragma once
// Memory positions of a value's elements, given Storage::within.

#include <cstdint>
#include <vector>

#include <lanner/dtype.h>
#include <lanner/shape.h>

#include "graph/storage/storage.h"
#include "graph/type/type.h"

namespace lanner {

/// The shape that the memory's layout has: the value's own, or the larger one's.
Shape memory_shape(const Storage& storage, const Shape& shape);
/// Strides in elements of each dim. For layouts without blocks.
std::vector<std::int64_t> memory_strides(const Storage& storage, const Shape& shape);
/// Bytes from the first to the last one, including gaps.
std::uint64_t memory_bytes(const Storage& storage, const Shape& shape, DType type);

/// Slices of memory at a distance of `pitch` bytes.
struct MemorySlices {
  std::uint64_t bytes = 0; ///< Size of one slice.
  std::uint64_t pitch = 0; ///< 0: there is only one slice.
};
/// The slices of a value within a larger one; otherwise empty.
MemorySlices memory_slices_of(const Storage& storage, const Shape& shape, DType type);

/// Throws Error{invalid_argument}, one line without the value's name, unless a value of this type can be
/// within a larger one as `storage` says.
void check_within(const Type& type, const Storage& storage);

} // namespace lanner
