#pragma once
// Where the elements of a value lie, as Storage::within says it.

#include <cstdint>
#include <vector>

#include <lanner/dtype.h>
#include <lanner/shape.h>

#include "graph/storage/storage.h"
#include "graph/type/type.h"

namespace lanner {

/// The shape whose layout is that of the memory: the value's own, or the larger one's.
Shape memory_shape(const Storage& storage, const Shape& shape);
/// Elements from one index of each dim to the next. For layouts without blocks.
std::vector<std::int64_t> memory_strides(const Storage& storage, const Shape& shape);
/// From the first byte to behind the last one, what lies between included.
std::uint64_t memory_bytes(const Storage& storage, const Shape& shape, DType type);

/// MemorySlices of memory that follow each other every `pitch` bytes.
struct MemorySlices {
  std::uint64_t bytes = 0; ///< Of one.
  std::uint64_t pitch = 0; ///< 0: there is only one.
};
/// Of a value that lies within a larger one; else nothing is said.
MemorySlices memory_slices_of(const Storage& storage, const Shape& shape, DType type);

/// Throws Error{invalid_argument}, one line without the value's name, unless a value of this type can lie
/// within a larger one as `storage` says.
void check_within(const Type& type, const Storage& storage);

} // namespace lanner
