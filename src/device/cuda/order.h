#pragma once
// Order between kernels of one stream.
//
// Note [Early starts] A kernel launched with programmatic stream serialization (cuDNN's and cuBLAS's since
// Hopper) starts while the one before it still runs, and is to wait inside before it reads what that one
// writes. Engines of cuDNN 9.19 do not wait before they read a residual. So nothing of ours relies on it:
// recorded graphs have their programmatic edges made full ones, and a launch outside of a recorded graph has
// an empty kernel in front of it, which starts when all before it has ended.

#include <memory>

#include "device/cuda/gpu.h"

namespace lanner::cuda {

/// Queues an operation that starts when all before it has ended, and that all behind it waits for.
/// Thread-safe.
class StreamOrder {
public:
  explicit StreamOrder(const Gpu& gpu);
  void queue(StreamHandle stream) const;

private:
  FunctionHandle kernel_ = nullptr;
  std::shared_ptr<void> byte_; ///< To be set where the build has no kernels.
};

} // namespace lanner::cuda
