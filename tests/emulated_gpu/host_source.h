#pragma once
// Sources for NVRTC as C++ of the host, compiled by the machine's compiler.

#include <string>
#include <vector>

#include "emulated_gpu/device.h"

namespace emulated {

/// Such a source as C++ that device.h and instructions.h stand in front of. Throws std::runtime_error for
/// what it cannot read.
std::string host_source(std::string source);

/// Names of the kernels of a source.
std::vector<std::string> kernel_names(const std::string& source);

/// Kernels of several sources, which a compiler took a second to begin with. Their libraries are kept by
/// their content in `folder` (empty: nowhere), so that the next process finds them, and stay open.
struct HostLibrary {
  std::vector<std::vector<KernelRow>> kernels; ///< Of each source.
  unsigned char* shared = nullptr;             ///< Memory that a launch asks for.
};
/// Throws std::runtime_error with the compiler's first complaint.
HostLibrary compile_for_host(const std::vector<std::string>& sources, const std::string& folder);

/// Whether there are a compiler and the checkout.
bool can_compile_for_host();

} // namespace emulated
