#pragma once
// The inner loops of sums, norms, maxima and minima along an axis.

#include <cstdint>

namespace lanner {

/// to[i] = (what from[r * inner + i] with r < length come to) / divisor, for i from `first` up to `last` of
/// `inner`. Sums are added up in short chains, so that the sum of many rounds little, those of squares in
/// double. The maximum and minimum of numbers with a NaN are NaN, those of zeros may have either sign.
/// `divisor` is for `sum` and `magnitudes`.
struct Columns {
  const float* from;
  float* to;
  std::int64_t length, inner, first, last;
  float divisor;
};

struct FoldFunctions {
  int columns; ///< That are best done together.
  void (*sum)(const Columns& columns);
  void (*magnitudes)(const Columns& columns); ///< Their sum.
  void (*squares)(const Columns& columns);    ///< Their sum.
  void (*length)(const Columns& columns);     ///< Root of the sum of squares.
  void (*max)(const Columns& columns);
  void (*min)(const Columns& columns);
};

/// For this processor.
const FoldFunctions& fold_functions();

// One for each instruction set.
const FoldFunctions& fold_functions_baseline();
const FoldFunctions& fold_functions_avx2();
const FoldFunctions& fold_functions_avx512();

} // namespace lanner
