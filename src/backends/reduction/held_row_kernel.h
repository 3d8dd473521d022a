#pragma once
// Kernels of row_source.h.

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cuda/pointer_kernel.h"
#include "backends/reduction/row_source.h"
#include "device/cuda/code.h"

namespace lanner::cuda {

/// `inputs` of the node and its first `outputs`, in the order of the source's pointers.
inline std::unique_ptr<Kernel> held_row_kernel(const Gpu& gpu, const HeldRows& rows,
                                               std::vector<std::size_t> inputs, std::size_t outputs) {
  // The number of rows, which follows the pointers, is the first of the sizes.
  const SizedElements sizes{.elements = rows.dense.rows.elements};
  const Grid grid{static_cast<unsigned>(row_blocks(rows)), static_cast<unsigned>(rows.share.threads), 0};
  return std::make_unique<PointerKernel>(compiled_function(gpu, row_source(rows), "rows"), grid,
                                         std::move(inputs), outputs, sizes);
}

} // namespace lanner::cuda
