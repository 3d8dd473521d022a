#pragma once
// The inner loops of products with few rows: a few rows of `a` times one panel of packed weights.

#include <cstdint>

namespace lanner {

/// out[r][c] = bias[c] + sum over d of a[r][d] * panel[d][c], for `columns` of the panel's `width` columns.
struct PanelProduct {
  const float* a;     ///< Rows are `a_stride` floats apart.
  const float* panel; ///< depth x width, dense.
  const float* bias;  ///< `columns` floats, or null.
  float* out;         ///< Rows are `out_stride` floats apart.
  std::int64_t a_stride, out_stride, rows, depth, columns;
  bool relu = false;
};

struct PanelFunction {
  int width; ///< Columns of a panel.
  void (*run)(const PanelProduct& product);
};

/// The function for this processor.
const PanelFunction& panel_function();

// One for each instruction set.
const PanelFunction& panel_function_baseline();
const PanelFunction& panel_function_avx2();
const PanelFunction& panel_function_avx512();

} // namespace lanner
