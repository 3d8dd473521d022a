#pragma once
// DLPack exchange (https://dmlc.github.io/dlpack/latest/), versions 0.8 (unversioned) and 1.x (versioned).

#include <lanner/tensor.h>

extern "C" {
struct DLManagedTensor;
struct DLManagedTensorVersioned;
}

namespace lanner {

/// A capsule's content that shares `tensor`'s memory until its deleter runs. Unblocked layouts only: a layout
/// without blocks is expressed by strides; others are Error{unsupported}.
DLManagedTensor* to_dlpack(const Tensor& tensor);
DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor);
/// Takes ownership of the managed tensor and shares its memory; a strided tensor that no Layout describes is
/// copied when it is on the host, else Error{unsupported}. The deleter runs when the last view is destroyed,
/// or before throwing.
Tensor from_dlpack(DLManagedTensor* managed);
Tensor from_dlpack(DLManagedTensorVersioned* managed);

} // namespace lanner
