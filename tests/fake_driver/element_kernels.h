#pragma once
// Kernels that compute f32 element by element at any size, and rows, on the host.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/dense_row_kernel.h"
#include "backends/cuda/row_kernel.h"
#include "backends/cuda/sized_kernel.h"

namespace lanner::fake {

/// What an element of each operand is, as one number.
using Numbers = std::array<float, 3>;

/// Of a kernel with parameters (operands, result, p), whose arguments are kept. `Truth`: operand 0 is truth.
template<typename Result, bool truth>
std::function<void()> by_element(void** arguments, std::size_t operands,
                                 std::function<float(const Numbers&)> of) {
  std::vector<const void*> from;
  for (std::size_t k = 0; k < operands; ++k) from.push_back(*static_cast<const void**>(arguments[k]));
  return [=, to = *static_cast<Result**>(arguments[operands]),
          p = *static_cast<const cuda::SizedElements*>(arguments[operands + 1])] {
    for (std::int64_t i = 0; i < p.elements; ++i) {
      Numbers numbers{};
      for (std::size_t k = 0; k < from.size(); ++k) {
        std::int64_t rest = i, at = 0;
        for (std::int64_t axis = p.axes - 1; axis >= 0; --axis) {
          at += rest % p.sizes[axis] * p.strides[k][axis];
          rest /= p.sizes[axis];
        }
        numbers[k] = truth && k == 0 ? static_cast<float>(static_cast<const bool*>(from[k])[at])
                                     : static_cast<const float*>(from[k])[at];
      }
      to[i] = static_cast<Result>(of(numbers));
    }
  };
}

inline std::int64_t offset_of(std::int64_t index, int axes, const std::int64_t* sizes,
                              const std::int64_t* strides) {
  std::int64_t offset = 0;
  for (int axis = axes - 1; axis >= 0; --axis) {
    offset += index % sizes[axis] * strides[axis];
    index /= sizes[axis];
  }
  return offset;
}

/// Of a kernel with parameters (source, target, p): `of` makes a row into a row, or into one element.
inline std::function<void()> by_row(void** arguments,
                                    std::function<std::vector<float>(const std::vector<float>&)> of) {
  return [=, from = *static_cast<const float**>(arguments[0]), to = *static_cast<float**>(arguments[1]),
          p = *static_cast<const cuda::RowParameters*>(arguments[2])] {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      std::vector<float> row;
      for (std::int64_t i = 0; i < p.length; ++i)
        row.push_back(from[offset_of(r, p.kept, p.kept_sizes, p.kept_source) +
                           offset_of(i, p.inner, p.inner_sizes, p.inner_source)]);
      row = of(row);
      for (std::size_t i = 0; i < row.size(); ++i)
        to[offset_of(r, p.kept, p.kept_sizes, p.kept_target) +
           offset_of(static_cast<std::int64_t>(i), p.inner, p.inner_sizes, p.inner_target)] = row[i];
    }
  };
}

inline std::int64_t place_of(std::int64_t element, const cuda::BoxParameters& box,
                             const std::int64_t* strides) {
  return offset_of(element, box.rank, box.sizes, strides);
}

/// The same of rows that are dense in memory.
inline std::function<void()> by_dense_row(void** arguments,
                                          std::function<std::vector<float>(const std::vector<float>&)> of) {
  return [=, from = *static_cast<const float**>(arguments[0]), to = *static_cast<float**>(arguments[1]),
          p = *static_cast<const cuda::DenseRowParameters*>(arguments[2])] {
    for (std::int64_t r = 0; r < p.rows.elements; ++r) {
      const float* first = from + place_of(r, p.rows, p.rows.source);
      const std::vector<float> result = of({first, first + p.length});
      std::ranges::copy(result, to + place_of(r, p.rows, p.rows.target));
    }
  };
}

/// ... and of rows side by side, each of which becomes one element.
inline std::function<void()> by_column(void** arguments,
                                       std::function<std::vector<float>(const std::vector<float>&)> of) {
  return [=, from = *static_cast<const float**>(arguments[0]), to = *static_cast<float**>(arguments[1]),
          p = *static_cast<const cuda::DenseColumnParameters*>(arguments[2])] {
    for (std::int64_t set = 0; set < p.outer.elements; ++set)
      for (std::int64_t column = 0; column < p.columns; ++column) {
        std::vector<float> row;
        for (std::int64_t i = 0; i < p.length; ++i)
          row.push_back(from[place_of(set, p.outer, p.outer.source) + column + i * p.step]);
        to[place_of(set, p.outer, p.outer.target) + column * p.target_step] = of(row)[0];
      }
  };
}

inline std::vector<float> softmax_of(std::vector<float> row) {
  const float most = *std::ranges::max_element(row);
  double sum = 0;
  for (float& x : row) sum += x = std::exp(x - most);
  for (float& x : row) x = static_cast<float>(x / sum);
  return row;
}
inline std::vector<float> mean_of(const std::vector<float>& row) {
  double sum = 0;
  for (const float x : row) sum += x;
  return {static_cast<float>(sum / static_cast<double>(row.size()))};
}
inline std::vector<float> most_of(const std::vector<float>& row) {
  return {*std::ranges::max_element(row)};
}

/// The work of a kernel of this name; empty for other names.
inline std::function<void()> element_kernel(const std::string& name, void** arguments) {
  if (name == "sized_relu")
    return by_element<float, false>(arguments, 1, [](const Numbers& x) { return std::max(x[0], 0.0F); });
  if (name == "sized_clip") // its bounds are in its source: those of the tests
    return by_element<float, false>(arguments, 1,
                                    [](const Numbers& x) { return std::clamp(x[0], -0.25F, 0.5F); });
  if (name == "sized_add")
    return by_element<float, false>(arguments, 2, [](const Numbers& x) { return x[0] + x[1]; });
  if (name == "sized_less")
    return by_element<bool, false>(arguments, 2,
                                   [](const Numbers& x) { return static_cast<float>(x[0] < x[1]); });
  if (name == "sized_where")
    return by_element<float, true>(arguments, 3, [](const Numbers& x) { return x[0] != 0 ? x[1] : x[2]; });
  for (const char* how : {"few_", "most_", "dense_"})
    if (name == std::string(how) + "softmax_f32") return by_dense_row(arguments, softmax_of);
  if (name == "dense_reduce_mean_f32") return by_dense_row(arguments, mean_of);
  if (name == "dense_reduce_max_f32") return by_dense_row(arguments, most_of);
  if (name == "columns_reduce_mean_f32") return by_column(arguments, mean_of);
  if (name == "columns_reduce_max_f32") return by_column(arguments, most_of);
  if (name == "softmax_f32") return by_row(arguments, softmax_of);
  if (name == "reduce_mean_f32") return by_row(arguments, mean_of);
  if (name == "reduce_max_f32") return by_row(arguments, most_of);
  return {};
}

} // namespace lanner::fake
