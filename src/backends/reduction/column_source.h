#pragma once
// Reductions of rows that lie side by side, as the channels of an image that is stored channels last, as
// sources for NVRTC.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/dtype.h>

#include "backends/reduction/dense_row_kernel.h"

namespace lanner::cuda {

/// How threads share the work. A block has `slices` times `lanes` threads at work: lanes are side by side,
/// slices take every so many-th element of their rows.
struct ColumnShare {
  int pack = 1; ///< Columns that a thread reads at once.
  int lanes = 1, slices = 1;
  int parts = 1;   ///< Blocks that share rows; what each comes to is joined by a second kernel.
  int threads = 0; ///< Of a block.
};

struct Columns {
  std::string_view reduction; ///< `reduce_mean` ...
  DType type = DType::f32;
  DenseColumnParameters dense; ///< Where rows lie; its `lanes` and `in_packs` are not read.
  ColumnShare share;
};

/// How rows of this type are shared on a GPU of so many multiprocessors; nothing where they are too long or
/// too many.
std::optional<ColumnShare> column_share(const DenseColumnParameters& dense, DType type, int multiprocessors);

/// Blocks of the kernel, and of the one that joins its parts.
std::int64_t column_blocks(const Columns&columns), join_blocks(const Columns&columns);

/// What the parts of all rows take between the two kernels.
std::size_t column_workspace(const Columns& columns);

/// Kernels `columns`(source, parts, or the results where there is one part) and, where there are more,
/// `join_parts`(parts, results), both of ColumnShare::threads.
std::string column_source(const Columns& columns);

} // namespace lanner::cuda
