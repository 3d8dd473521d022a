#pragma once
// Tensors of TensorFlow and of Lanner, which share memory.

#include <memory>
#include <optional>

#include <lanner/allocator.h>
#include <lanner/tensor.h>

#include "c_api.h"

namespace lanner::tensorflow_ops {

struct DeleteTensor {
  void operator()(TF_Tensor* tensor) const { c_api().TF_DeleteTensor(tensor); }
};
using TensorPtr = std::unique_ptr<TF_Tensor, DeleteTensor>;

/// The type of tensors that an engine takes; nothing for a type that it does not.
std::optional<DType> dtype_of_tensorflow(TF_DataType type);

/// The same memory, which lives as long as the result.
Tensor shared(TensorPtr tensor);

/// The same memory as output `index` of the kernel, of TensorFlow's type. `tensor` is on the host, row-major.
void set_output(TF_OpKernelContext* context, int index, const Tensor& tensor);

/// An allocator for engines: memory of TensorFlow's while a CurrentContext lives on the thread, else the
/// system's.
const lanner_allocator& tensorflow_allocator();

/// The kernel that runs on this thread, whose TensorFlow gives memory.
class CurrentContext {
public:
  explicit CurrentContext(TF_OpKernelContext* context);
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

private:
  TF_OpKernelContext* outer_;
};

} // namespace lanner::tensorflow_ops
