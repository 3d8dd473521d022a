#pragma once
// The first call of an embedded kernel that may start before the previous one has ended: see Note [Early
// starts] in order.h. Sources that NVRTC compiles have their own (backends/cuda/source_text.cpp).

namespace lanner::cuda {

/// Lets the next kernel be launched, and waits for the end of all earlier work. A kernel calls it before it
/// reads or writes memory that others write. Does nothing before compute capability 9.0.
__device__ inline void start_early() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace lanner::cuda
