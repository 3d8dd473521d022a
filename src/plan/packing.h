#pragma once
// Tensors in the storage that kernels ask for.

#include <lanner/tensor.h>

#include "graph/storage.h"

namespace lanner {

/// `tensor` in the layout and type of `storage`, on the host; the tensor itself when it already is.
Tensor pack(const Tensor& tensor, const Storage& storage);
/// Row-major, of this type: to widen, narrow or unpack a tensor.
Storage of_type(DType type);

} // namespace lanner
