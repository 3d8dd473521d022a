#pragma once
// Products of stacked matrices by NumPy's rule, shared by matmul, its integer forms and gemm.

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/limits/counted_vector.h"
#include "graph/op.h"
#include "ops/definition/rows.h"

namespace lanner::ops {

/// c + a * b; integers wrap around.
template<typename T>
T multiply_add(T c, T a, T b) {
  if constexpr (std::is_integral_v<T> && sizeof(T) >= sizeof(int)) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(c) + static_cast<U>(a) * static_cast<U>(b));
  } else {
    return static_cast<T>(c + a * b);
  }
}

/// Sizes of one product and, for each matrix of the result, where its operands start.
struct MatrixProduct {
  std::int64_t rows = 1, depth = 1, columns = 1;
  CountedVector<std::int64_t> a_starts, b_starts;

  /// A vector counts as a row on the left and as a column on the right.
  static MatrixProduct read(const Shape& a, const Shape& b);
  static MatrixProduct single(std::int64_t rows, std::int64_t depth, std::int64_t columns);
};

/// Dims of the product of inputs `a` and `b`, as a type of `dtype`.
Type infer_product(const Type& a, const Type& b, DType dtype);

/// One block of rows and columns of c: sums of up to `depth_piece` products, which are then added. A single
/// chain of thousands of additions would round more than libraries do, and the block stays in the cache.
template<typename T>
struct ProductBlock {
  static constexpr std::int64_t rows = 8, columns = 256, depth_piece = 128;
  T sums[rows * columns];
};

/// c = a * b for dense row-major stacks. See Note [Vector loops] in convolution.h.
template<typename T>
void multiply(const MatrixProduct& product, std::span<const T> a, std::span<const T> b, std::span<T> c,
              int threads) {
  using Block = ProductBlock<T>;
  const std::int64_t m = product.rows, k = product.depth, n = product.columns;
  const std::int64_t blocks = (m + Block::rows - 1) / Block::rows;
  for_each_row(threads, static_cast<std::int64_t>(product.a_starts.size()) * blocks, [&](std::int64_t work) {
    const auto matrix = static_cast<std::size_t>(work / blocks);
    const std::int64_t first = work % blocks * Block::rows, rows = std::min(m - first, Block::rows);
    const T* left = a.data() + product.a_starts[matrix] + first * k;
    const T* right = b.data() + product.b_starts[matrix];
    T* out = c.data() + static_cast<std::int64_t>(matrix) * m * n + first * n;
    std::fill(out, out + rows * n, T{});
    Block block;
    for (std::int64_t column = 0; column < n; column += Block::columns) {
      const std::int64_t columns = std::min(n - column, Block::columns);
      for (std::int64_t start = 0; start < k; start += Block::depth_piece) {
        for (std::int64_t row = 0; row < rows; ++row)
          std::fill_n(block.sums + row * Block::columns, columns, T{});
        const std::int64_t end = std::min(k, start + Block::depth_piece);
        for (std::int64_t i = start; i < end; ++i) {
          const T* from = right + i * n + column;
          for (std::int64_t row = 0; row < rows; ++row) {
            const T factor = left[row * k + i];
            T* sums = block.sums + row * Block::columns;
#pragma omp simd
            for (std::int64_t j = 0; j < columns; ++j) sums[j] = multiply_add(sums[j], factor, from[j]);
          }
        }
        for (std::int64_t row = 0; row < rows; ++row) {
          T* to = out + row * n + column;
          const T* sums = block.sums + row * Block::columns;
#pragma omp simd
          for (std::int64_t j = 0; j < columns; ++j) to[j] = multiply_add(to[j], sums[j], T{1});
        }
      }
    }
  });
}

} // namespace lanner::ops
