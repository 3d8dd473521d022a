#pragma once
// Tensors in the storage that kernels ask for.

#include <lanner/tensor.h>

#include "graph/storage/storage.h"
#include "ops/definition/stored_reals.h"

namespace lanner {

/// `tensor` in the layout and type of `storage`, on the host; the tensor itself when it already is. Quantised
/// where `storage` is; `tensor` holds reals then, and `values` tells what the values hold that the storage
/// names.
Tensor pack(const Tensor& tensor, const Storage& storage,
            const ops::StoredValues& values = ops::stored_constant);
/// Row-major, of this type: to widen, narrow or unpack a tensor.
Storage of_type(DType type);

} // namespace lanner
