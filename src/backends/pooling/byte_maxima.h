#pragma once
// Maxima of bytes at the same place of several rows.

#include <cstdint>

namespace lanner {

/// out[i] = the largest of rows[0][i] ... rows[count - 1][i] for `size` bytes; count > 0. `out` is none of
/// the rows.
using ByteMaxima = void (*)(const std::uint8_t* const* rows, std::int64_t count, std::uint8_t* out,
                            std::int64_t size);
struct ByteMaximaFunctions {
  ByteMaxima of_signed, of_unsigned;
};

/// The functions for this processor.
const ByteMaximaFunctions& byte_maxima();

// One set for each instruction set.
ByteMaximaFunctions byte_maxima_baseline();
ByteMaximaFunctions byte_maxima_avx2();
ByteMaximaFunctions byte_maxima_avx512();

} // namespace lanner
