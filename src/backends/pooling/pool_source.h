#pragma once
// Pools of images whose channels are contiguous in memory, as sources for NVRTC: each thread computes a pack
// of channels. windows.cu handles other images.

#include <cstdint>
#include <optional>
#include <string>

#include <lanner/dtype.h>

#include "backends/pooling/window_kernel.h"

namespace lanner::cuda {

struct Pool {
  bool is_max = false; ///< Otherwise an average.
  DType type = DType::f32;
  PoolParameters window;
  int pack = 1; ///< Channels per thread.
};

/// The number of channels that a thread reads at once: a power of two. Nothing where they are not contiguous,
/// or where there are too many results or taps for this kernel.
std::optional<int> pool_pack(const PoolParameters& window, DType type);

std::int64_t pool_threads(const Pool& pool);

/// Kernel `pool`(source, results), one thread per pack of results.
std::string pool_source(const Pool& pool);

} // namespace lanner::cuda
