#pragma once
// Packs tensors into the storage that kernels need.

#include <lanner/tensor.h>

#include "device/memory_arena.h"
#include "graph/storage/storage.h"
#include "ops/definition/stored_reals.h"

namespace lanner {

/// `tensor` in the layout and type of `storage`, on the host; the tensor itself when it already is. Quantised
/// where `storage` is; `tensor` holds reals then, and `values` has the contents of the values that the
/// storage names.
Tensor pack(const Tensor& tensor, const Storage& storage,
            const ops::StoredValues& values = ops::stored_constant);
/// The same, in memory of the arena.
Tensor pack(const Tensor& tensor, const Storage& storage, MemoryArena& arena);
/// Row-major storage of this type: to widen, narrow or unpack a tensor.
Storage of_type(DType type);

} // namespace lanner
