#pragma once
// Tensors that view memory which may not be written.

#include <memory>

#include <lanner/tensor.h>

namespace lanner::python {

/// Deleter: marks an owner whose memory may not be written.
struct Frozen {
  std::shared_ptr<const void> owner;
  void operator()(const void*) { owner.reset(); }
};

/// The tensor, marked as a view of memory that may not be written.
inline Tensor frozen(Tensor tensor) {
  std::shared_ptr<const void> owner(tensor.owner().get(), Frozen{tensor.owner()});
  return Tensor::wrap(tensor.data(), tensor.dtype(), tensor.shape(), std::move(owner), tensor.layout(),
                      tensor.device());
}

/// Whether the memory that a tensor views may not be written.
inline bool read_only(const Tensor& tensor) {
  return std::get_deleter<Frozen>(tensor.owner()) != nullptr;
}

} // namespace lanner::python
