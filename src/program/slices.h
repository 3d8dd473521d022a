#pragma once
// Parts of a value that are slices of its memory.

#include <cstdint>
#include <optional>

#include "graph/storage/storage.h"
#include "graph/type/type.h"

namespace lanner {

/// A value's type and how it is stored.
struct StoredAs {
  const Type& type;
  const Storage& storage;
};

/// Bytes from the first one of `whole` to the first one of `part`, which has its elements from `start` on
/// along `axis`, where it lies there as its storage says: one slice of memory, as all dims that the layout
/// puts outside of the axis have one element, or Storage::within. Nothing where it does not, where `part`
/// lies on another device or in another type, is quantised, or would begin at an address that kernels are not
/// made for. Both are planned.
std::optional<std::int64_t> part_offset(const StoredAs& whole, const StoredAs& part, std::size_t axis,
                                        std::int64_t start);

/// How a part of `whole` along `axis` is stored that is many slices of its memory.
Storage strided_part(const StoredAs& whole, std::size_t axis);

} // namespace lanner
