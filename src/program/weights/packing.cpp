#include "program/weights/packing.h"

namespace lanner {

Storage of_type(DType type) {
  Storage storage;
  storage.dtype = type;
  return storage;
}

Tensor pack(const Tensor& tensor, const Storage& storage, const ops::StoredValues& values) {
  const DType type = storage.dtype.value_or(tensor.dtype());
  const bool same_layout =
      tensor.layout() == storage.layout || (tensor.layout().row_major() && storage.layout.row_major());
  if (type == tensor.dtype() && same_layout && !storage.quantization) return tensor;
  Tensor packed = Tensor::allocate(type, tensor.shape(), storage.layout);
  ops::store_reals(tensor, storage, values, packed);
  return packed;
}

} // namespace lanner
