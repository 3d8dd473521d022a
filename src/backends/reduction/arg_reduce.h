#pragma once
// The inner loops of arg_max and arg_min.

#include <cstdint>

namespace lanner {

/// to[i] = the r with r < length of which from[r * inner + i] is the largest, or the least, for i from
/// `first` up to `last` of `inner`: the first such r, or the last. NaN is ahead of nothing, and nothing of
/// it.
struct ArgColumns {
  const float* from;
  std::int64_t* to;
  std::int64_t length, inner, first, last; ///< The length is 2^30 at most.
};

struct ArgFunctions {
  int columns; ///< That are best done together.
  /// [least][the last one of several].
  void (*run[2][2])(const ArgColumns& columns);
};

/// For this processor.
const ArgFunctions& arg_functions();

// One for each instruction set.
const ArgFunctions& arg_functions_baseline();
const ArgFunctions& arg_functions_avx2();
const ArgFunctions& arg_functions_avx512();

} // namespace lanner
