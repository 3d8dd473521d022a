#pragma once
// Parts of a value that are one stretch of its memory.

#include <cstdint>
#include <optional>

#include "graph/storage.h"
#include "graph/type.h"

namespace lanner {

/// A value's type and how it is stored.
struct StoredAs {
  const Type& type;
  const Storage& storage;
};

/// Bytes from the first one of `whole` to the first one of `part`, which has its elements from `start` on
/// along `axis`, where these are one stretch of its memory as `part` wants them stored: all dims that the
/// layout puts outside of the axis have one element. Nothing where they are not, where `part` lies elsewhere
/// or in another type, is quantised, or would begin at an address that kernels are not made for. Both are
/// planned.
std::optional<std::int64_t> stretch_offset(const StoredAs& whole, const StoredAs& part, std::size_t axis,
                                           std::int64_t start);

} // namespace lanner
