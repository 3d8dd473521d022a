#pragma once
// The loops of panel.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include "backends/cpu/simd.h"
#include "backends/product/panel.h"

namespace lanner::LANNER_SIMD {

inline constexpr int panel_vectors = 2;
inline constexpr std::int64_t panel_width = panel_vectors * lanes;
/// Rows at once: with two vectors per row the sums fill half of the registers (AVX-512 has 32, the others
/// 16).
inline constexpr int max_rows = LANNER_SIMD_BYTES == 64 ? 8 : 4;

inline void finish(const PanelProduct& p, float* out, F low, F high) {
  if (p.relu) {
    low = at_least(low, 0.0F);
    high = at_least(high, 0.0F);
  }
  if (p.columns == panel_width) {
    store(out, low);
    store(out + lanes, high);
  } else if (p.columns > lanes) {
    store(out, low);
    store_some(out + lanes, high, p.columns - lanes);
  } else {
    store_some(out, low, p.columns);
  }
}

struct Bias {
  F low{}, high{};
};
inline Bias load_bias(const PanelProduct& p) {
  if (!p.bias) return {};
  if (p.columns == panel_width) return {load(p.bias), load(p.bias + lanes)};
  if (p.columns > lanes) return {load(p.bias), load_some(p.bias + lanes, p.columns - lanes)};
  return {load_some(p.bias, p.columns), F{}};
}

/// One row: several accumulators along the depth, since each multiply-add waits for the one before it.
inline void one_row(const PanelProduct& p, const float* a, float* out) {
  constexpr int chains = 4;
  F sums[chains][panel_vectors] = {};
  const float* b = p.panel;
  std::int64_t d = 0;
  for (; d + chains <= p.depth; d += chains, b += chains * panel_width)
#pragma GCC unroll 8
    for (int c = 0; c < chains; ++c) {
      const F x = splat(a[d + c]);
      sums[c][0] = multiply_add(x, load(b + c * panel_width), sums[c][0]);
      sums[c][1] = multiply_add(x, load(b + c * panel_width + lanes), sums[c][1]);
    }
  for (; d < p.depth; ++d, b += panel_width) {
    const F x = splat(a[d]);
    sums[0][0] = multiply_add(x, load(b), sums[0][0]);
    sums[0][1] = multiply_add(x, load(b + lanes), sums[0][1]);
  }
  const Bias bias = load_bias(p);
  finish(p, out, bias.low + ((sums[0][0] + sums[1][0]) + (sums[2][0] + sums[3][0])),
         bias.high + ((sums[0][1] + sums[1][1]) + (sums[2][1] + sums[3][1])));
}

template<int rows>
void some_rows(const PanelProduct& p, const float* a, float* out) {
  F low[rows], high[rows];
  const Bias bias = load_bias(p);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    low[r] = bias.low;
    high[r] = bias.high;
  }
  const float* b = p.panel;
  for (std::int64_t d = 0; d < p.depth; ++d, b += panel_width) {
    const F left = load(b), right = load(b + lanes);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const F x = splat(a[r * p.a_stride + d]);
      low[r] = multiply_add(x, left, low[r]);
      high[r] = multiply_add(x, right, high[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) finish(p, out + r * p.out_stride, low[r], high[r]);
}

inline void run_panel(const PanelProduct& p) {
  const float* a = p.a;
  float* out = p.out;
  std::int64_t left = p.rows;
  for (; left >= max_rows; left -= max_rows) {
    some_rows<max_rows>(p, a, out);
    a += max_rows * p.a_stride;
    out += max_rows * p.out_stride;
  }
  for (; left >= 4; left -= 4) {
    some_rows<4>(p, a, out);
    a += 4 * p.a_stride;
    out += 4 * p.out_stride;
  }
  if (left == 3) return some_rows<3>(p, a, out);
  if (left == 2) return some_rows<2>(p, a, out);
  if (left == 1) one_row(p, a, out);
}

} // namespace lanner::LANNER_SIMD
