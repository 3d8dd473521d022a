#pragma once
// The inner loops of softmax and log_softmax.

#include <cstdint>

namespace lanner {

/// Element r of column i is from[r * from_stride + i], and its result to[r * to_stride + i], for r < length
/// and i < count; both may be the same memory. A column with a NaN, or whose largest element is infinite,
/// becomes NaN. Sums use short chains of additions.
struct SoftmaxColumns {
  const float* from;
  float* to;
  std::int64_t from_stride, to_stride, length, count;
};
/// One column whose elements are contiguous.
struct SoftmaxRow {
  const float* from;
  float* to;
  std::int64_t length;
};

struct SoftmaxFunctions {
  void (*columns)(const SoftmaxColumns& columns);
  void (*columns_log)(const SoftmaxColumns& columns);
  void (*row)(const SoftmaxRow& row);
  void (*row_log)(const SoftmaxRow& row);
};

/// The functions for this processor.
const SoftmaxFunctions& softmax_functions();

// One for each instruction set.
const SoftmaxFunctions& softmax_functions_baseline();
const SoftmaxFunctions& softmax_functions_avx2();
const SoftmaxFunctions& softmax_functions_avx512();

} // namespace lanner
