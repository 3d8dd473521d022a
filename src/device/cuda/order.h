#pragma once
// Order between kernels of one stream.
//
// Note [Early starts] A kernel launched with programmatic stream serialization (cuDNN's and cuBLAS's since
// Hopper) starts while the previous one still runs, and should wait inside before it reads what that one
// writes. Engines of cuDNN 9.19 do not wait before they read a residual. So kernels of libraries never start
// early: programmatic edges to them in recorded graphs are replaced by full ones, and a launch outside of a
// recorded graph is preceded by an empty kernel, which starts when all earlier work has ended.
// Kernels that are compiled by NVRTC do: each calls wait_for_earlier() (backends/cuda/source_text.cpp), which
// returns when all earlier work has ended, before it reads or writes memory that other kernels write. In
// recorded graphs, on GPUs of compute capability 9.0 and above, they get programmatic edges from the kernel
// before, and so are launched when all blocks of that one have called start_next() or ended.

#include <memory>

#include "device/cuda/gpu.h"

namespace lanner::cuda {

/// Queues an operation that starts when all earlier work has ended, and that all later work waits for.
/// Thread-safe.
class StreamOrder {
public:
  explicit StreamOrder(const Gpu& gpu);
  void queue(StreamHandle stream) const;

private:
  FunctionHandle kernel_ = nullptr;
  std::shared_ptr<void> byte_; ///< The memset target where the build has no kernels.
};

} // namespace lanner::cuda
