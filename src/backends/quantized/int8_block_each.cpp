// Compiled once for each instruction set.

#include "backends/quantized/int8_block_loops.h"

namespace lanner {

const Int8Functions& LANNER_FOR_ISA(int8_pairs)() {
  static constexpr Int8Functions functions = LANNER_SIMD::int8_pairs();
  return functions;
}

const Int8Functions& LANNER_FOR_ISA(int8_quads)() {
  static constexpr Int8Functions functions = LANNER_SIMD::int8_quads();
  return functions;
}

} // namespace lanner
