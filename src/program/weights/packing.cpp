#include "program/weights/packing.h"

#include <utility>

namespace lanner {
namespace {

DType type_in(const Storage& storage, const Tensor& tensor) {
  return storage.dtype.value_or(tensor.dtype());
}

bool is_stored_as(const Storage& storage, const Tensor& tensor) {
  const bool same_layout =
      tensor.layout() == storage.layout || (tensor.layout().row_major() && storage.layout.row_major());
  return type_in(storage, tensor) == tensor.dtype() && same_layout && !storage.quantization;
}

} // namespace

Storage of_type(DType type) {
  Storage storage;
  storage.dtype = type;
  return storage;
}

Tensor pack(const Tensor& tensor, const Storage& storage, const ops::StoredValues& values) {
  if (is_stored_as(storage, tensor)) return tensor;
  Tensor packed = Tensor::allocate(type_in(storage, tensor), tensor.shape(), storage.layout);
  ops::store_reals(tensor, storage, values, packed);
  return packed;
}

Tensor pack(const Tensor& tensor, const Storage& storage, MemoryArena& arena) {
  const DType type = type_in(storage, tensor);
  if (type == DType::string || is_stored_as(storage, tensor)) return pack(tensor, storage);
  auto memory = arena.allocate(storage.layout.bytes(tensor.shape(), type));
  void* const first = memory.get();
  Tensor packed = Tensor::wrap(first, type, tensor.shape(), std::move(memory), storage.layout);
  ops::store_reals(tensor, storage, ops::stored_constant, packed);
  return packed;
}

} // namespace lanner
