#pragma once
// Parameters of the kernels of dense_rows.cu. Shared by host and device code.

#include <cstdint>

#include "backends/movement/box_kernel.h"

namespace lanner::cuda {

/// Rows whose elements are contiguous in memory. `rows` is a box with an element for each row: its offset in
/// the source, and in the target.
struct DenseRowParameters {
  BoxParameters rows;
  std::int64_t length = 0;
  int team = 0;          ///< Threads per row: a power of two up to a warp; 0: the whole block.
  bool in_packs = false; ///< The start and length of every row are multiples of 16 bytes.
};

/// Interleaved rows: element k of `columns` adjacent rows is at k * `step`. `outer` is a box with an element
/// for each such set of rows: the offset of the first in the source, and in the target.
struct DenseColumnParameters {
  BoxParameters outer;
  std::int64_t length = 0, step = 0;
  std::int64_t columns = 0, target_step = 0;
  int lanes = 1;         ///< Adjacent columns per block, a power of two; the other threads share their rows.
  bool in_packs = false; ///< As in DenseRowParameters.
};

/// Elements of a row that a thread of a team may hold in registers, so that the row is read once: the
/// smallest sufficient number is used. Longer rows are read again for each pass.
inline constexpr int few_held = 8, most_held = 32;

/// Rows to be normalised; sums and results have the layout of the operands.
struct DenseNormalizationParameters {
  DenseRowParameters dense;
  std::int64_t repeat = 1, shared = 1; ///< As in Normalization.
  Divisor shares;                      ///< Divides by `shared`.
  float epsilon = 0;
  bool centred = false;
};

} // namespace lanner::cuda
