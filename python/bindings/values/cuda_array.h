#pragma once
// Objects with __cuda_array_interface__ (the CUDA array interface, versions 2 and 3).

#include <lanner/dlpack_structs.h>

#include "calls/bindings.h"

namespace lanner::python {

/// Whether an object has this interface and none that NumPy or DLPack take it by.
bool is_cuda_array(nb::handle object);
/// A view of its memory, which keeps the object. What its producer's stream was given is complete, unless
/// that is `stream`, the one that will read it. Throws Error{unsupported} without a GPU.
DLManagedTensorVersioned* view_of_cuda_array(nb::handle object, std::uintptr_t stream);

} // namespace lanner::python
