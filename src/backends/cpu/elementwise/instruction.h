#pragma once
// Instructions of elementwise programs on a CPU: each runs over a tile of floats.

#include <array>
#include <cstdint>

#include "backends/elementwise/opcode.h"

namespace lanner {

/// out[i] of x[i], y[i], z[i], for `count` elements; operands that an opcode has not are null. `out` may be
/// an operand.
using TileFunction = void (*)(float* out, const float* x, const float* y, const float* z, std::int64_t count,
                              Numbers numbers);
using TileFunctions = std::array<TileFunction, opcode_count>;

/// The functions for this processor.
const TileFunctions& tile_functions();

// One set for each instruction set.
const TileFunctions& tile_functions_baseline();
const TileFunctions& tile_functions_avx2();
const TileFunctions& tile_functions_avx512();

} // namespace lanner
