#pragma once
// How rows of a tensor become what kernels of rows.cu get.

#include "backends/cuda/row_kernel.h"
#include "device/cuda/code.h"
#include "device/cuda/gpu.h"

namespace lanner::cuda {

struct RowAxis {
  std::int64_t size, source, target; ///< Elements, strides.
};

/// The next axis, outermost first, of a row (`inner`) or of those that tell rows apart. It joins the one
/// before where both are one in memory, as dividing by sizes is what kernels do most.
void add_axis(RowParameters& p, bool inner, const RowAxis& axis);

/// A block for each row, as far as the GPU has use for them.
Grid row_grid(const Gpu& gpu, const RowParameters& p);

} // namespace lanner::cuda
