#pragma once
// NVIDIA's run-time compiler.

#include <string>

namespace lanner::cuda {

struct NvrtcStatus {
  bool found = false;
  std::string version; ///< `13.0`.
  std::string path;
  std::string reason; ///< Why it was not opened.
};
/// Opens libnvrtc at the first call. Never throws.
const NvrtcStatus& nvrtc_status();

/// Machine code (a cubin) of CUDA C++ `source` for compute capability `capability` (90), with the headers
/// bundled with NVRTC. Throws Error{unsupported} where there is no NVRTC, Error{internal} with the compiler's
/// first error.
std::string compile(const std::string& source, int capability);

} // namespace lanner::cuda
