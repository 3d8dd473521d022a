#pragma once
// How rows of a tensor become what kernels of rows.cu get.

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

/// The next axis, outermost first, of a row (`inner`) or of those that tell rows apart. It joins the one
/// before where both are one in memory, as dividing by sizes is what kernels do most.
void add_axis(RowParameters& p, bool inner, const RowAxis& axis);

/// Along which axes rows run, and whether they are written as such: else each becomes one element.
struct RowAxes {
  std::vector<std::size_t> axes;
  bool writes_rows = false;
};
/// How a value lies in memory.
struct PlacedShape {
  Shape shape;
  Layout layout;
};
/// `result` has the axes of `source`, or those alone that tell rows apart.
RowParameters row_parameters(const RowAxes& rows, const PlacedShape& source, const PlacedShape& result);

/// The same rows where they are dense in memory, of elements of `bytes`; nothing where they are not, or there
/// are too many. `writes_rows`: the target has an element for each of the source, else one for each row.
std::optional<DenseRowParameters> dense_rows(const RowParameters& p, std::int64_t bytes, bool writes_rows);

Grid dense_grid(const Gpu& gpu, const DenseRowParameters& p);

/// The same rows where they lie side by side, as the channels of an image that is stored channels last;
/// nothing where they do not. They become one element each.
std::optional<DenseColumnParameters> dense_columns(const RowParameters& p, std::int64_t bytes);

Grid dense_grid(const Gpu& gpu, const DenseColumnParameters& p);

/// The first part of the name of the kernel in dense_rows.cu that goes over rows more than once: `few_` and
/// `most_` hold them in registers.
std::string_view held_prefix(const DenseRowParameters& p);

/// A block for each row, as far as the GPU has use for them.
Grid row_grid(const Gpu& gpu, const RowParameters& p);

} // namespace lanner::cuda
