#pragma once
// What the kernels of rows.cu get. Shared by host and device code.

#include <cstdint>

namespace lanner::cuda {

inline constexpr int max_row_axes = 6;

/// Rows of elements in a strided tensor: the kept axes tell rows apart, the others make up one. Strides count
/// elements; those of the target are of kept axes, and of a row's axes where a row is written.
struct RowParameters {
  int kept = 0, inner = 0; ///< Axes.
  std::int64_t rows = 1, length = 1;
  std::int64_t kept_sizes[max_row_axes] = {}, kept_source[max_row_axes] = {}, kept_target[max_row_axes] = {};
  std::int64_t inner_sizes[max_row_axes] = {}, inner_source[max_row_axes] = {},
               inner_target[max_row_axes] = {};
};

/// Rows that are normalised; results and sums lie as the operands do.
struct NormalizationParameters {
  RowParameters rows;
  std::int64_t shared = 1, repeat = 1; ///< As in Normalization.
  float epsilon = 0;
  bool centred = false;
};

} // namespace lanner::cuda
