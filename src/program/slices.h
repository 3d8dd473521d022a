#pragma once
// Parts of a value as slices of its memory.

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

/// Byte offset in `whole` of `part`, its elements from `start` on along `axis`, where part's storage fits
/// there: one contiguous slice, if all dims outside of the axis in the layout have one element, or several by
/// Storage::within. Nothing where it does not fit, where `part` is on another device, in another type,
/// quantised, or would begin at an address that kernels do not support. Both are planned.
std::optional<std::int64_t> part_offset(const StoredAs& whole, const StoredAs& part, std::size_t axis,
                                        std::int64_t start);

/// The storage of a part of `whole` along `axis` that consists of several slices of its memory.
Storage strided_part(const StoredAs& whole, std::size_t axis);

} // namespace lanner
