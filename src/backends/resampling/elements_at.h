#pragma once
// Gathers elements from arbitrary addresses into vectors, for loops over the vectors of simd.h.

#include "backends/cpu/simd.h"

namespace lanner::LANNER_SIMD {

inline I load_offsets(const std::int32_t* from) {
  I result;
  std::memcpy(&result, from, sizeof(I));
  return result;
}
inline void store_offsets(std::int32_t* to, I value) {
  std::memcpy(to, &value, sizeof(I));
}

inline F elements_at(const float* from, I offsets) {
#if defined(__AVX512F__)
  return F(_mm512_i32gather_ps(__m512i(offsets), from, 4));
#elif defined(__AVX2__)
  return F(_mm256_i32gather_ps(from, __m256i(offsets), 4));
#else
  F result;
  for (int i = 0; i < lanes; ++i) result[i] = from[offsets[i]];
  return result;
#endif
}

} // namespace lanner::LANNER_SIMD
