// Compiled once for each instruction set.

#include "backends/contraction/block_loops.h"
#include "backends/contraction/tile_loops.h"

namespace lanner {

const BlockFunctions& LANNER_FOR_ISA(int8_pairs)() {
  static constexpr BlockFunctions functions = LANNER_SIMD::int8_pairs();
  return functions;
}

const BlockFunctions& LANNER_FOR_ISA(int8_quads)() {
  static constexpr BlockFunctions functions = LANNER_SIMD::int8_quads();
  return functions;
}

#if LANNER_SIMD_BYTES == 64 || LANNER_SIMD_BYTES == 16
const BlockFunctions& LANNER_FOR_ISA(int8_tiles)() {
  static constexpr BlockFunctions functions = LANNER_SIMD::int8_tiles();
  return functions;
}

const BlockFunctions& LANNER_FOR_ISA(bf16_tiles)() {
  static constexpr BlockFunctions functions = LANNER_SIMD::bf16_tiles();
  return functions;
}
#endif

} // namespace lanner
