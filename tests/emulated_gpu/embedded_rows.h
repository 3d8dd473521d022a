#pragma once
// Kernels of the library's .cu files, as the host's compiler made them. The table is written by
// tests/CMakeLists.txt.

#include "emulated_gpu/device.h"

namespace emulated {

/// Of each file: its kernels, up to one without a name. The last is null.
extern const KernelRow* const embedded_rows[];

} // namespace emulated
