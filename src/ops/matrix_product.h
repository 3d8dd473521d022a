#pragma once
// Products of stacks of matrices by NumPy's rule, shared by matmul, its integer forms and gemm.

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "graph/op.h"
#include "ops/rows.h"

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
  std::vector<std::int64_t> a_starts, b_starts;

  /// A vector counts as a row on the left and as a column on the right.
  static MatrixProduct read(const Shape& a, const Shape& b);
  static MatrixProduct single(std::int64_t rows, std::int64_t depth, std::int64_t columns);
};

/// Dims of the product of inputs `a` and `b`, as a type of `dtype`.
Type infer_product(const Type& a, const Type& b, DType dtype);

/// c = a * b for dense row-major stacks. See Note [Vector loops] in convolution.h.
template<typename T>
void multiply(const MatrixProduct& product, std::span<const T> a, std::span<const T> b, std::span<T> c,
              int threads) {
  constexpr std::int64_t block = 8; // Rows that share one pass over b.
  const std::int64_t m = product.rows, k = product.depth, n = product.columns;
  const std::int64_t blocks = (m + block - 1) / block;
  for_each_row(threads, static_cast<std::int64_t>(product.a_starts.size()) * blocks, [&](std::int64_t work) {
    const auto matrix = static_cast<std::size_t>(work / blocks);
    const std::int64_t first = work % blocks * block, last = std::min(m, first + block);
    const T* left = a.data() + product.a_starts[matrix];
    const T* right = b.data() + product.b_starts[matrix];
    T* out = c.data() + static_cast<std::int64_t>(matrix) * m * n;
    std::fill(out + first * n, out + last * n, T{});
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t row = first; row < last; ++row) {
        const T factor = left[row * k + i];
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j)
          out[row * n + j] = multiply_add(out[row * n + j], factor, right[i * n + j]);
      }
    }
  });
}

} // namespace lanner::ops
