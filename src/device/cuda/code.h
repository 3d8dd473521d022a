#pragma once
// Machine code of GPU kernels: embedded in the library, or compiled while tuning.

#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "device/cuda/gpu.h"

namespace lanner::cuda {

/// Function `name` of the embedded source `stem`.cu, loaded once per GPU. Throws Error{unsupported} where the
/// build had no nvcc.
FunctionHandle embedded_function(const Gpu& gpu, std::string_view stem, const char* name);

/// Whether this build has the embedded source `stem`.cu.
bool has_embedded(std::string_view stem);

/// Function `name` of CUDA C++ `source`, compiled for the GPU by NVRTC; machine code is cached by source, in
/// the process and in the user's cache folder. The module lives as long as the process. `shared_bytes`: the
/// dynamic shared memory of its launches, where that may exceed the usual 48 KiB. Throws
/// Error{unsupported} where NVRTC is missing, Error{internal} with its log where the source does not compile.
/// Each kernel of the source must call wait_for_earlier(): see Note [Early starts] in order.h.
FunctionHandle compiled_function(const Gpu& gpu, const std::string& source, const char* name,
                                 unsigned shared_bytes = 0);

/// Whether the kernel waits inside for the work queued before it, so that it may start before that ends:
/// see Note [Early starts] in order.h. Thread-safe.
bool starts_early(FunctionHandle function);

/// A launch with one-dimensional blocks.
struct Grid {
  unsigned blocks = 1, threads = 256, shared_bytes = 0;
};
/// Blocks of 256 threads for `elements`, as many as keep the GPU busy; each thread strides over the grid.
Grid grid_for(const Gpu& gpu, std::int64_t elements);

/// Queues `function(arguments...)`; arguments have exactly the kernel's parameter types.
template<typename... Arguments>
void launch(FunctionHandle function, const Grid& grid, Stream stream, Arguments... arguments) {
  void* list[] = {static_cast<void*>(&arguments)...};
  check(driver().launch(function, grid.blocks, 1, 1, grid.threads, 1, 1, grid.shared_bytes,
                        static_cast<StreamHandle>(stream.handle), list, nullptr),
        "cuLaunchKernel");
}

} // namespace lanner::cuda
