#pragma once
// Converts rows of a tensor to parameters of rows.cu's kernels.

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <lanner/tensor.h>

#include "backends/reduction/dense_row_kernel.h"
#include "backends/reduction/row_kernel.h"
#include "device/cuda/code.h"
#include "device/cuda/gpu.h"

namespace lanner::cuda {

struct RowAxis {
  std::int64_t size, source, target; ///< Elements, strides.
};

/// Appends the next axis, outermost first, of a row (`inner`) or of the kept axes. It is merged with the
/// previous one where both are contiguous, since kernels spend most time on dividing by sizes.
void add_axis(RowParameters& p, bool inner, const RowAxis& axis);

/// The axes of a row, and whether rows are written in full: otherwise each becomes one element.
struct RowAxes {
  std::vector<std::size_t> axes;
  bool writes_rows = false;
};
/// A value's shape and memory layout.
struct StoredShape {
  Shape shape;
  Layout layout;
};
/// `result` has the axes of `source`, or the kept ones only.
RowParameters row_parameters(const RowAxes& rows, const StoredShape& source, const StoredShape& result);

/// The same rows where they are dense in memory, of elements of `bytes`; nothing where they are not, or there
/// are too many. `writes_rows`: the target has an element for each of the source, else one for each row.
std::optional<DenseRowParameters> dense_rows(const RowParameters& p, std::int64_t bytes, bool writes_rows);

Grid dense_grid(const Gpu& gpu, const DenseRowParameters& p);

/// The same rows where they are interleaved, as the channels of a channels-last image; nothing where they are
/// not. They become one element each.
std::optional<DenseColumnParameters> dense_columns(const RowParameters& p, std::int64_t bytes);

Grid dense_grid(const Gpu& gpu, const DenseColumnParameters& p);

/// The name prefix of the kernel in dense_rows.cu that passes over rows more than once: `few_` and `most_`
/// hold them in registers.
std::string_view held_prefix(const DenseRowParameters& p);

/// A block per row, up to what the GPU can use.
Grid row_grid(const Gpu& gpu, const RowParameters& p);

} // namespace lanner::cuda
