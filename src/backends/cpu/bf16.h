#pragma once
// Rows of bf16 as floats and back.

#include <cstdint>

namespace lanner {

/// One number of bf16 in memory.
struct Bf16 {
  std::uint16_t bits;
  operator float() const noexcept { return __builtin_bit_cast(float, std::uint32_t{bits} << 16U); }
};

struct Bf16Functions {
  void (*read)(const Bf16* from, float* to, std::int64_t count);
  /// Rounds to nearest, ties to even; a NaN stays one.
  void (*write)(const float* from, Bf16* to, std::int64_t count);
};

/// The functions for this processor.
const Bf16Functions& bf16_functions();

// One set for each instruction set.
Bf16Functions bf16_baseline();
Bf16Functions bf16_avx2();
Bf16Functions bf16_avx512();

} // namespace lanner
