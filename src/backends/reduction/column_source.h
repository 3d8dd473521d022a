#pragma once
// Reductions of rows that are interleaved in memory, as the channels of a channels-last image, as sources for
// NVRTC.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/dtype.h>

#include "backends/reduction/dense_row_kernel.h"

namespace lanner::cuda {

/// How threads share the work. A block has `slices` times `lanes` active threads: lanes are adjacent columns,
/// slices take every `slices`-th element of their rows.
struct ColumnShare {
  int pack = 1; ///< Columns per read of a thread.
  int lanes = 1, slices = 1;
  int parts = 1;   ///< Blocks that share rows; a second kernel combines their partial results.
  int threads = 0; ///< Threads per block.
};

struct Columns {
  std::string_view reduction; ///< `reduce_mean` ...
  DType type = DType::f32;
  DenseColumnParameters dense; ///< Memory layout of the rows; its `lanes` and `in_packs` are unused.
  ColumnShare share;
};

/// How rows of this type are shared on a GPU with so many multiprocessors; nothing where they are too long or
/// too many.
std::optional<ColumnShare> column_share(const DenseColumnParameters& dense, DType type, int multiprocessors);

/// Number of blocks of the kernel, and of the one that combines its parts.
std::int64_t column_blocks(const Columns&columns), join_blocks(const Columns&columns);

/// Bytes of the partial results of all rows.
std::size_t column_workspace(const Columns& columns);

/// Kernels `columns`(source, parts, or the results where there is one part) and, with more parts,
/// `join_parts`(parts, results), both with ColumnShare::threads.
std::string column_source(const Columns& columns);

} // namespace lanner::cuda
