#pragma once
// Integers of 8, 16 and 32 bits as tiles of floats.

#include <cstdint>

#include <lanner/dtype.h>

namespace lanner {

/// to[i] = (from[i] - zero) * scale, each step rounded to f32.
using ReadIntegers = void (*)(const void* from, float* to, std::int64_t count, float zero, float scale);
/// to[i] = from[i] / scale rounded to the nearest integer, halves to even, plus zero, which is an integer:
/// clamped to the range of the type. NaN becomes its minimum.
using WriteIntegers = void (*)(const float* from, void* to, std::int64_t count, float zero, float scale);

struct IntegerTiles {
  struct Functions {
    DType type;
    ReadIntegers read;
    WriteIntegers write; ///< Null for 32 bits.
  };
  static constexpr int types = 5;
  const Functions* list; ///< Of `types`.

  /// Null for other types.
  const Functions* of(DType type) const {
    for (int i = 0; i < types; ++i)
      if (list[i].type == type) return list + i;
    return nullptr;
  }
};

/// The functions for this processor.
const IntegerTiles& integer_tiles();

// One set for each instruction set.
IntegerTiles integer_tiles_baseline();
IntegerTiles integer_tiles_avx2();
IntegerTiles integer_tiles_avx512();

} // namespace lanner
