#pragma once
// GPUs as the CUDA driver lists them.

#include <cstdint>
#include <string>
#include <vector>

namespace lanner {

struct Gpu {
  std::string name;
  std::uint64_t memory_bytes = 0;
  int major = 0, minor = 0; ///< Compute capability.
};

struct GpuList {
  std::string version; ///< The CUDA version that the driver serves; empty where there is no driver.
  std::string path;    ///< Of the driver's library.
  std::string reason;  ///< Why `gpus` is empty; empty when it is not.
  std::vector<Gpu> gpus;
};

/// Opens the driver and asks it. Never throws.
GpuList list_gpus();

} // namespace lanner
