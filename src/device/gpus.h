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
  std::string version; ///< The CUDA version that the driver supports; empty where there is no driver.
  std::string path;    ///< Path of the driver's library.
  std::string reason;  ///< Why `gpus` is empty; empty when it is not.
  std::vector<Gpu> gpus;
};

/// Opens the driver and lists its GPUs. Never throws.
GpuList list_gpus();

} // namespace lanner
