#pragma once
// Trials with values that are parts of larger ones (Storage::within): gaps are filled with a pattern, so that
// reading them shows in results, and checked afterwards.

#include <lanner/shape.h>
#include <lanner/tensor.h>

#include "graph/storage/storage.h"

namespace lanner {

/// The larger value's memory that holds `part`, which is row-major and on the host, of the type that it is
/// stored in; on the storage's device. All other bytes are `between`.
Tensor spread_part(const Tensor& part, const Storage& storage, unsigned char between);
/// The part of `shape` out of such memory on the host; row-major.
Tensor part_within(const Tensor& whole, const Storage& storage, const Shape& shape);
/// Whether all bytes of such memory but the part's are still `between`.
bool kept_between(const Tensor& whole, const Storage& storage, const Shape& shape, unsigned char between);

} // namespace lanner
