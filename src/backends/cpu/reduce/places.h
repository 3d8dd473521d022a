#pragma once
// The inner loops of arg_max and arg_min.

#include <cstdint>

namespace lanner {

/// to[i] = the r with r < length of which from[r * inner + i] is the largest, or the least, for i from
/// `first` up to `last` of `inner`: the first such r, or the last. NaN is ahead of nothing, and nothing of
/// it.
struct PlaceColumns {
  const float* from;
  std::int64_t* to;
  std::int64_t length, inner, first, last; ///< The length is 2^30 at most.
};

struct PlaceFunctions {
  int columns; ///< That are best done together.
  /// [least][the last one of several].
  void (*run[2][2])(const PlaceColumns& columns);
};

/// For this processor.
const PlaceFunctions& place_functions();

// One for each instruction set.
const PlaceFunctions& place_functions_baseline();
const PlaceFunctions& place_functions_avx2();
const PlaceFunctions& place_functions_avx512();

} // namespace lanner
