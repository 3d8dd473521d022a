#pragma once
// The inner loops of softmax and log_softmax.

#include <cstdint>

namespace lanner {

/// Element r of column i is from[r * from_stride + i], and to[r * to_stride + i] of its result, for r <
/// length and i < count; both may be the same memory. A column with a NaN, or with an infinity as its
/// largest, becomes NaN. Sums are added up in short chains.
struct SoftmaxColumns {
  const float* from;
  float* to;
  std::int64_t from_stride, to_stride, length, count;
};
/// One column whose elements lie next to each other.
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

/// For this processor.
const SoftmaxFunctions& softmax_functions();

// One for each instruction set.
const SoftmaxFunctions& softmax_functions_baseline();
const SoftmaxFunctions& softmax_functions_avx2();
const SoftmaxFunctions& softmax_functions_avx512();

} // namespace lanner
