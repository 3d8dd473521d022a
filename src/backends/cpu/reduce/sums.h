#pragma once
// The inner loops of sums along an axis.

#include <cstdint>

namespace lanner {

/// to[i] = (sum over r < length of from[r * inner + i]) / divisor, for i from `first` up to `last` of
/// `inner`. Numbers are added up in short chains, so that the sum of many rounds little.
struct Sums {
  const float* from;
  float* to;
  std::int64_t length, inner, first, last;
  float divisor;
};

struct SumFunction {
  int columns; ///< That are best done together.
  void (*run)(const Sums& sums);
};

/// For this processor.
const SumFunction& sum_function();

// One for each instruction set.
const SumFunction& sum_function_baseline();
const SumFunction& sum_function_avx2();
const SumFunction& sum_function_avx512();

} // namespace lanner
