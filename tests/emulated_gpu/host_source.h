#pragma once
// Translates sources for NVRTC to host C++, compiled by the machine's compiler.

#include <string>
#include <vector>

#include "emulated_gpu/device.h"

namespace emulated {

/// Such a source as C++ to be compiled after device.h and instructions.h. Throws std::runtime_error for
/// constructs it cannot translate.
std::string host_source(std::string source);

/// Names of the kernels of a source.
std::vector<std::string> kernel_names(const std::string& source);

/// Kernels of several sources, compiled together since starting a compiler takes a second. Libraries are
/// cached by content in `folder` (empty: not cached), so that the next process finds them, and stay open.
struct HostLibrary {
  std::vector<std::vector<KernelRow>> kernels; ///< Of each source.
  unsigned char* shared = nullptr;             ///< Dynamic shared memory of a launch.
};
/// Throws std::runtime_error with the compiler's first error.
HostLibrary compile_for_host(const std::vector<std::string>& sources, const std::string& folder);

/// Whether there are a compiler and a checkout.
bool can_compile_for_host();

} // namespace emulated
