#pragma once
// The inner loops of products with few rows whose weights are 8-bit or 4-bit integers.

#include <cstddef>
#include <cstdint>

namespace lanner {

enum class StoredWeights : std::uint8_t { i8, u8, i4, u4 };

/// Columns processed together: a multiple of every vector width.
inline constexpr std::int64_t quantized_width = 256;

/// out[r][c] = sum over d of a[r][d] * (weights[d][c] - zero) * scale, for `columns` of quantized_width
/// columns.
struct QuantizedPanel {
  const float* a;           ///< Rows are `depth` floats apart.
  const std::byte* weights; ///< Row-major, `stride` numbers per row.
  const float* scale;       ///< Of column c in block b: `scale[b * block_step + c * column_step]`.
  const std::byte* zero;    ///< Indexed alike, in the weights' type; null: 0.
  float* out;               ///< Rows are `out_stride` floats apart.
  StoredWeights stored;
  std::int64_t first;   ///< First column; even where two numbers share a byte. `out` begins there.
  std::int64_t columns; ///< At most quantized_width.
  std::int64_t stride, out_stride, rows, depth;
  std::int64_t block; ///< Depth steps that share a scale.
  std::int64_t block_step, column_step;
};

/// Maximum number of rows.
inline constexpr std::int64_t max_quantized_rows = 8;

using QuantizedFunction = void (*)(const QuantizedPanel& panel);
/// The function for this processor.
QuantizedFunction quantized_function();

// One for each instruction set.
QuantizedFunction quantized_function_baseline();
QuantizedFunction quantized_function_avx2();
QuantizedFunction quantized_function_avx512();

} // namespace lanner
