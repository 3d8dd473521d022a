#pragma once
// Vectors of floats from bf16 and back; see tile_functions.h for how it is compiled.

#include "backends/cpu/bf16.h"
#include "backends/cpu/simd.h"

namespace lanner::LANNER_SIMD {

// Not those of tensor/float16.h: inline functions of one name, compiled for several instruction sets, would
// be one.
inline float widened(Bf16 value) {
  return __builtin_bit_cast(float, std::uint32_t{value.bits} << 16U);
}
inline Bf16 rounded(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
}

inline F floats_of(const Bf16* from) {
#if defined(__AVX512F__)
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return F(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
#elif defined(__AVX2__)
  const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return F(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
#else
  F result;
  for (std::int64_t i = 0; i < lanes; ++i) result[i] = widened(from[i]);
  return result;
#endif
}

/// The upper half of each float's bits, plus one where the lower half rounds up.
inline void store_rounded(Bf16* to, F value) {
#if defined(__AVX512F__)
  const __m512i bits = __m512i(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __mmask16 nan = _mm512_cmp_ps_mask(__m512(value), __m512(value), _CMP_UNORD_Q);
  const __m512i upper = _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, nan, quiet), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(upper));
#elif defined(__AVX2__)
  const __m256i bits = __m256i(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(__m256(value), __m256(value), _CMP_UNORD_Q));
  const __m256i upper = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  // Packing works on each half of the register: the second one's words follow the first one's.
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(upper, upper), 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(words));
#else
  for (std::int64_t i = 0; i < lanes; ++i) to[i] = rounded(value[i]);
#endif
}

} // namespace lanner::LANNER_SIMD
