#include "engine/packing.h"

#include <fmt/format.h>

namespace lanner {

Tensor pack(const Tensor& tensor, const Storage& storage) {
  const DType type = storage.dtype.value_or(tensor.dtype());
  const bool same_layout = tensor.layout() == storage.layout || (tensor.layout().row_major() && storage.layout.row_major());
  if (type == tensor.dtype() && same_layout) return tensor;
  Tensor packed = Tensor::allocate(type, tensor.shape(), storage.layout);
  copy(tensor, packed);
  return packed;
}

Tensor PackedConstants::get(const Tensor& tensor, const Storage& storage) {
  const DType type = storage.dtype.value_or(tensor.dtype());
  const std::string key = fmt::format("{} {} {}", to_string(type), storage.layout.to_string(), tensor.shape().to_string());
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{tensor.data(), key}];
  if (!entry.packed.defined()) entry = {tensor, pack(tensor, storage)};
  return entry.packed;
}

} // namespace lanner
