#pragma once
// What the kernels of dense_rows.cu get. Shared by host and device code.

#include <cstdint>

#include "backends/movement/box_kernel.h"

namespace lanner::cuda {

/// Rows whose elements are neighbours in memory. `rows` is a box with an element for each row: where it
/// begins in the source, and in the target.
struct DenseRowParameters {
  BoxParameters rows;
  std::int64_t length = 0;
  int team = 0;          ///< Threads that share a row: a power of two up to a warp; 0: the whole block.
  bool in_packs = false; ///< Every row begins at, and is as long as, a multiple of 16 bytes of elements.
};

/// Rows side by side: those of `columns` neighbours in memory go on `step` elements further. `outer` is a box
/// with an element for each such set of rows: where the first begins in the source, and in the target.
struct DenseColumnParameters {
  BoxParameters outer;
  std::int64_t length = 0, step = 0;
  std::int64_t columns = 0, target_step = 0;
  int lanes = 1;         ///< Threads of a block side by side, a power of two; the others share their rows.
  bool in_packs = false; ///< As in DenseRowParameters.
};

/// Elements of a row that a thread of a team may hold in registers, so that the row is read once: the fewest
/// that are enough are taken. Longer rows are read again for each pass.
inline constexpr int few_held = 8, most_held = 32;

/// Rows that are normalised; sums and results lie as the operands do.
struct DenseNormalizationParameters {
  DenseRowParameters dense;
  std::int64_t repeat = 1, shared = 1; ///< As in Normalization.
  Divisor shares;                      ///< By `shared`.
  float epsilon = 0;
  bool centred = false;
};

} // namespace lanner::cuda
