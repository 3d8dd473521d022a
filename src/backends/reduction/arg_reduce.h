#pragma once
// The inner loops of arg_max and arg_min.

#include <cstdint>

namespace lanner {

/// to[i] = the r with r < length for which from[r * inner + i] is the largest, or the smallest, for i from
/// `first` up to `last` of `inner`: the first such r, or the last. A NaN neither beats another number nor is
/// beaten by one.
struct ArgColumns {
  const float* from;
  std::int64_t* to;
  std::int64_t length, inner, first, last; ///< The length is 2^30 at most.
};

struct ArgFunctions {
  int columns; ///< Preferred number of columns per call.
  /// [smallest][last of equal ones].
  void (*run[2][2])(const ArgColumns& columns);
};

/// The functions for this processor.
const ArgFunctions& arg_functions();

// One for each instruction set.
const ArgFunctions& arg_functions_baseline();
const ArgFunctions& arg_functions_avx2();
const ArgFunctions& arg_functions_avx512();

} // namespace lanner
