#pragma once
// The inner loops of sums, norms, maxima and minima along an axis.

#include <cstdint>

namespace lanner {

/// to[i] = (the reduction of from[r * inner + i] over r < length) / divisor, for i from `first` up to `last`
/// of `inner`. Sums use short chains of additions to limit rounding; those of squares use double where float's
/// range is too small. The maximum and minimum of numbers with a NaN are NaN, those of zeros may have either sign. `divisor` applies to `sum`
/// and `magnitudes`.
struct Columns {
  const float* from;
  float* to;
  std::int64_t length, inner, first, last;
  float divisor;
};

struct FoldFunctions {
  int columns; ///< Preferred number of columns per call.
  void (*sum)(const Columns& columns);
  void (*magnitudes)(const Columns& columns); ///< Sum of magnitudes.
  void (*squares)(const Columns& columns);    ///< Sum of squares.
  void (*length)(const Columns& columns);     ///< Root of the sum of squares.
  void (*max)(const Columns& columns);
  void (*min)(const Columns& columns);
  void (*log_sum)(const Columns& columns);     ///< Logarithm of the sum.
  void (*log_sum_exp)(const Columns& columns); ///< Logarithm of the sum of e^x, which need not be finite.
};

/// The functions for this processor.
const FoldFunctions& fold_functions();

// One for each instruction set.
const FoldFunctions& fold_functions_baseline();
const FoldFunctions& fold_functions_avx2();
const FoldFunctions& fold_functions_avx512();

} // namespace lanner
