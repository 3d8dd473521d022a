#pragma once
// Maxima of elements at the same place of several rows.

#include <cstddef>
#include <cstdint>

namespace lanner {

/// Pixels whose elements are adjacent, in elements: `size` of each pixel, `step` from one to the next. Those
/// of results are adjacent.
struct PixelRun {
  std::int64_t size = 0, pixels = 1, step = 0;
};

/// Writes for each element of each pixel the largest of `count` > 0 rows. A NaN is the largest. `out` is none
/// of the rows.
using Maxima = void (*)(const std::byte* const* rows, std::int64_t count, std::byte* out,
                        const PixelRun& run);
struct MaximaFunctions {
  Maxima of_i8, of_u8, of_bf16, of_f32;
};

/// The functions for this processor.
const MaximaFunctions& maxima_functions();

// One set for each instruction set.
MaximaFunctions maxima_baseline();
MaximaFunctions maxima_avx2();
MaximaFunctions maxima_avx512();

} // namespace lanner
