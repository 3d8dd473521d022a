#pragma once
// Kernels compiled by NVRTC with all sizes in their source.

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "backends/elementwise/sized_kernel.h"
#include "device/cuda/code.h"
#include "graph/backend.h"

namespace lanner::cuda {

/// function(some of the node's inputs..., outputs...): pointers; then the sizes, for a kernel of any size.
class PointerKernel final : public Kernel {
public:
  static constexpr std::size_t max_pointers = 32;

  PointerKernel(FunctionHandle function, Grid grid, std::vector<std::size_t> inputs, std::size_t outputs,
                const SizedElements& sizes = {})
      : function_(function), grid_(grid), inputs_(std::move(inputs)), outputs_(outputs), sizes_(sizes) {}
  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override {
    std::array<const void*, max_pointers> pointers;
    std::array<void*, max_pointers + 1> arguments;
    std::size_t count = 0;
    for (const std::size_t input : inputs_) pointers[count++] = launch.inputs[input];
    for (std::size_t i = 0; i < outputs_; ++i) pointers[count++] = launch.outputs[i];
    for (std::size_t i = 0; i < count; ++i) arguments[i] = &pointers[i];
    // The driver reads only as many parameters as the kernel has: one with fixed sizes ignores these.
    arguments[count] = const_cast<SizedElements*>(&sizes_);
    check(driver().launch(function_, grid_.blocks, 1, 1, grid_.threads, 1, 1, grid_.shared_bytes,
                          static_cast<StreamHandle>(launch.stream.handle), arguments.data(), nullptr),
          "cuLaunchKernel");
  }

private:
  FunctionHandle function_;
  Grid grid_;
  std::vector<std::size_t> inputs_; ///< Inputs of the node, in the order of the kernel's parameters.
  std::size_t outputs_;
  SizedElements sizes_;
};

} // namespace lanner::cuda
