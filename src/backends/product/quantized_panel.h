#pragma once
// The inner loops of products with few rows whose weights are numbers of 8 or 4 bits.

#include <cstddef>
#include <cstdint>

namespace lanner {

enum class StoredWeights : std::uint8_t { i8, u8, i4, u4 };

/// Columns that are done together: a multiple of all vectors.
inline constexpr std::int64_t quantized_width = 256;

/// out[r][c] = sum over d of a[r][d] * (weights[d][c] - zero) * scale, for `columns` of quantized_width
/// columns.
struct QuantizedPanel {
  const float* a;           ///< Rows are `depth` floats apart.
  const std::byte* weights; ///< Row-major, `stride` numbers a row.
  const float* scale;       ///< Of column c in block b: `scale[b * block_step + c * column_step]`.
  const std::byte* zero;    ///< The same in numbers of the weights' type; null: 0.
  float* out;               ///< Rows are `out_stride` floats apart.
  StoredWeights stored;
  std::int64_t first;   ///< Column, even where two numbers share a byte; `out` begins there.
  std::int64_t columns; ///< At most quantized_width.
  std::int64_t stride, out_stride, rows, depth;
  std::int64_t block; ///< Steps of the depth that share a scale.
  std::int64_t block_step, column_step;
};

/// At most so many rows.
inline constexpr std::int64_t max_quantized_rows = 8;

using QuantizedFunction = void (*)(const QuantizedPanel& panel);
/// For this processor.
QuantizedFunction quantized_function();

// One for each instruction set.
QuantizedFunction quantized_function_baseline();
QuantizedFunction quantized_function_avx2();
QuantizedFunction quantized_function_avx512();

} // namespace lanner
