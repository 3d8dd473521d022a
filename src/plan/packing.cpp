#include "plan/packing.h"

#include <fmt/format.h>

namespace lanner {

/// Which of a constant's forms one is.
static std::string key_of(DType type, const Layout& layout, const Shape& shape) {
  return fmt::format("{} {} {}", to_string(type), layout.to_string(), shape.to_string());
}

Storage of_type(DType type) {
  Storage storage;
  storage.dtype = type;
  return storage;
}

Tensor pack(const Tensor& tensor, const Storage& storage) {
  const DType type = storage.dtype.value_or(tensor.dtype());
  const bool same_layout =
      tensor.layout() == storage.layout || (tensor.layout().row_major() && storage.layout.row_major());
  if (type == tensor.dtype() && same_layout) return tensor;
  Tensor packed = Tensor::allocate(type, tensor.shape(), storage.layout);
  copy_tensor(tensor, packed);
  return packed;
}

Tensor PackedConstants::get(const Tensor& tensor, const Storage& storage) {
  const std::string key = key_of(storage.dtype.value_or(tensor.dtype()), storage.layout, tensor.shape());
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{tensor.data(), key}];
  if (!entry.packed.defined()) entry = {tensor, pack(tensor, storage)};
  return entry.packed;
}

Tensor PackedConstants::on(const Tensor& packed, Device device) {
  if (packed.device() == device) return packed;
  const std::lock_guard lock(mutex_);
  Entry& entry = moved_[{packed.data(), device, packed.bytes()}];
  if (!entry.packed.defined()) entry = {packed, packed.to(device)};
  return Tensor::wrap(entry.packed.data(), packed.dtype(), packed.shape(), entry.packed.owner(),
                      packed.layout(), device);
}

std::vector<const void*> PackedConstants::packed_forms(const Tensor& tensor) const {
  const std::lock_guard lock(mutex_);
  std::vector<const void*> forms;
  for (auto it = entries_.lower_bound({tensor.data(), {}});
       it != entries_.end() && it->first.first == tensor.data(); ++it) {
    const Tensor& packed = it->second.packed;
    if (packed.dtype() == tensor.dtype() && packed.shape() == tensor.shape()) forms.push_back(packed.data());
  }
  return forms;
}

void PackedConstants::know(const Tensor& tensor, const Tensor& packed) {
  const std::lock_guard lock(mutex_);
  entries_[{tensor.data(), key_of(packed.dtype(), packed.layout(), tensor.shape())}] = {tensor, packed};
}

} // namespace lanner
