#pragma once
// Instructions of elementwise programs on a CPU: each applies a formula to a tile of floats.

#include <cstdint>

#include "ops/elementwise/formula.h"

namespace lanner {

/// out[i] from x[i], y[i], z[i], for `count` elements; operands that a formula does not have are null. `out`
/// may alias an operand.
using TileFunction = void (*)(float* out, const float* x, const float* y, const float* z, std::int64_t count,
                              Numbers numbers);
struct TileFunctions {
  const TileFunction* by_index;
  TileFunction operator[](const Formula& formula) const { return by_index[formula.index]; }
};

/// The functions for this processor.
const TileFunctions& tile_functions();

// One set for each instruction set.
TileFunctions tile_functions_baseline();
TileFunctions tile_functions_avx2();
TileFunctions tile_functions_avx512();

} // namespace lanner
