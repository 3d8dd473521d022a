// Compiled once for each instruction set.

#include "backends/cpu/bf16.h"
#include "backends/cpu/bf16_vectors.h"

namespace lanner {
namespace LANNER_SIMD {
namespace {

void read(const Bf16* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, floats_of(from + i));
  for (; i < count; ++i) to[i] = widened(from[i]);
}

void write(const float* from, Bf16* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store_rounded(to + i, load(from + i));
  for (; i < count; ++i) to[i] = rounded(from[i]);
}

} // namespace
} // namespace LANNER_SIMD

Bf16Functions LANNER_FOR_ISA(bf16)() {
  return {LANNER_SIMD::read, LANNER_SIMD::write};
}

} // namespace lanner
