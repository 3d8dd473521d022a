#pragma once
// Vectors of bytes and of what they become, for the loops of block.h; see tile_functions.h for how it is
// compiled.

#include <type_traits>

#include "backends/cpu/simd.h"

#if defined(__SSE2__) && !defined(__AVX2__)
#include <emmintrin.h>
#endif

namespace lanner::LANNER_SIMD {

/// Two vectors of sums for each row.
inline constexpr std::int64_t block_width = 2 * lanes;
/// The sums of as many rows as leave registers for two vectors of weights, a row's numbers and a product.
inline constexpr int block_rows = LANNER_SIMD_BYTES == 64 ? 12 : LANNER_SIMD_BYTES == 32 ? 6 : 4;

/// Unsigned, so that sums may wrap on the way to a result that fits.
using U = std::uint32_t __attribute__((vector_size(LANNER_SIMD_BYTES)));
using Words = std::int16_t __attribute__((vector_size(LANNER_SIMD_BYTES)));
using HalfBytes = std::int8_t __attribute__((vector_size(LANNER_SIMD_BYTES / 2)));
using HalfUnsignedBytes = std::uint8_t __attribute__((vector_size(LANNER_SIMD_BYTES / 2)));
using QuarterBytes = std::int8_t __attribute__((vector_size(LANNER_SIMD_BYTES / 4)));
using QuarterUnsignedBytes = std::uint8_t __attribute__((vector_size(LANNER_SIMD_BYTES / 4)));

template<typename V>
V load_as(const void* from) {
  V result;
  std::memcpy(&result, from, sizeof(V));
  return result;
}
template<typename V>
void store_as(void* to, V value) {
  std::memcpy(to, &value, sizeof(V));
}

/// Bytes as floats, one for each lane.
template<bool is_signed>
F floats_of(const std::byte* from) {
#if LANNER_SIMD_BYTES == 64
  const __m128i bytes = load_as<__m128i>(from);
  return F(_mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes)));
#elif LANNER_SIMD_BYTES == 32
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return F(_mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes)));
#else
  using Bytes = std::conditional_t<is_signed, QuarterBytes, QuarterUnsignedBytes>;
  return to_float(__builtin_convertvector(load_as<Bytes>(from), I));
#endif
}

} // namespace lanner::LANNER_SIMD
