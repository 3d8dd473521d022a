#pragma once
// Parameters of the kernels of rows.cu. Shared by host and device code.

#include <cstdint>

namespace lanner::cuda {

inline constexpr int max_row_axes = 6;

/// Rows of elements in a strided tensor: the kept axes select a row, the inner ones an element in it. Strides
/// count elements; the target has strides for kept axes, and for inner axes where a row is written.
struct RowParameters {
  int kept = 0, inner = 0; ///< Axes.
  std::int64_t rows = 1, length = 1;
  std::int64_t kept_sizes[max_row_axes] = {}, kept_source[max_row_axes] = {}, kept_target[max_row_axes] = {};
  std::int64_t inner_sizes[max_row_axes] = {}, inner_source[max_row_axes] = {},
               inner_target[max_row_axes] = {};
};

/// Rows to be normalised; results and sums have the layout of the operands.
struct NormalizationParameters {
  RowParameters rows;
  std::int64_t shared = 1, repeat = 1; ///< As in Normalization.
  float epsilon = 0;
  bool centred = false;
};

} // namespace lanner::cuda
