#pragma once
// Vectors of floats as wide as the instruction set that the including file is compiled for. Everything is in
// a namespace named after the instruction set, so that the templates compiled three times remain separate
// functions.

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANNER_SIMD simd_avx512
#define LANNER_FOR_ISA(name) name##_avx512 ///< A function's name for the instruction set.
#define LANNER_SIMD_BYTES 64
#elif defined(__AVX2__)
#define LANNER_SIMD simd_avx2
#define LANNER_FOR_ISA(name) name##_avx2
#define LANNER_SIMD_BYTES 32
#else
#define LANNER_SIMD simd_baseline
#define LANNER_FOR_ISA(name) name##_baseline
#define LANNER_SIMD_BYTES 16
#endif

namespace lanner::LANNER_SIMD {

/// GCC and Clang give vectors arithmetic, comparison (a mask of all ones) and `mask ? a : b`, lane by lane.
using F = float __attribute__((vector_size(LANNER_SIMD_BYTES)));
using I = std::int32_t __attribute__((vector_size(LANNER_SIMD_BYTES)));
inline constexpr std::int64_t lanes = LANNER_SIMD_BYTES / 4;
/// Doubles, half as many, and as many floats.
using D = double __attribute__((vector_size(LANNER_SIMD_BYTES)));
using HalfF = float __attribute__((vector_size(LANNER_SIMD_BYTES / 2)));

inline F load(const float* from) {
  F result;
  std::memcpy(&result, from, sizeof(F));
  return result;
}
inline void store(float* to, F value) {
  std::memcpy(to, &value, sizeof(F));
}
// Partial loads and stores avoid memcpy of variable size: that is a call, which costs more than all the rest
// of a short row.
#if defined(__AVX512F__)
inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1);
}
inline F load_some(const float* from, std::int64_t count) {
  return F(_mm512_maskz_loadu_ps(first_lanes(count), from));
}
inline void store_some(float* to, F value, std::int64_t count) {
  _mm512_mask_storeu_ps(to, first_lanes(count), __m512(value));
}
#elif defined(__AVX2__)
inline __m256i first_lanes(std::int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline F load_some(const float* from, std::int64_t count) {
  return F(_mm256_maskload_ps(from, first_lanes(count)));
}
inline void store_some(float* to, F value, std::int64_t count) {
  _mm256_maskstore_ps(to, first_lanes(count), __m256(value));
}
#else
inline F load_some(const float* from, std::int64_t count) {
  F result{};
  std::memcpy(&result, from, static_cast<std::size_t>(count) * sizeof(float));
  return result;
}
inline void store_some(float* to, F value, std::int64_t count) {
  std::memcpy(to, &value, static_cast<std::size_t>(count) * sizeof(float));
}
#endif

/// `write(i, count)` for each vector of a row; `count` is less than `lanes` for the last one only.
template<typename Write>
void each_vector(std::int64_t length, Write write) {
  std::int64_t i = 0;
  for (; i + lanes <= length; i += lanes) write(i, lanes);
  if (i < length) write(i, length - i);
}

inline F load_up_to(const float* from, std::int64_t count) {
  return count == lanes ? load(from) : load_some(from, count);
}
inline void store_up_to(float* to, F value, std::int64_t count) {
  if (count == lanes)
    store(to, value);
  else
    store_some(to, value, count);
}

/// Adding a vector of zeros would cost an addition per broadcast, and lose the sign of -0.
inline F splat(float value) {
#if defined(__AVX512F__)
  return F(_mm512_set1_ps(value));
#elif defined(__AVX2__)
  return F(_mm256_set1_ps(value));
#else
  return F{value, value, value, value};
#endif
}
inline I as_bits(F value) {
  return reinterpret_cast<I>(value);
}
inline F as_float(I value) {
  return reinterpret_cast<F>(value);
}
inline I to_int(F value) {
  return __builtin_convertvector(value, I);
}
inline F to_float(I value) {
  return __builtin_convertvector(value, F);
}
inline D to_double(HalfF value) {
  return __builtin_convertvector(value, D);
}
inline HalfF to_float(D value) {
  return __builtin_convertvector(value, HalfF);
}

/// a * b + c, rounded once where the instruction set has FMA.
inline F multiply_add(F a, F b, F c) {
#if defined(__AVX512F__)
  return F(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#elif defined(__AVX2__)
  return F(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#else
  return a * b + c;
#endif
}

inline F square_root(F x) {
#if defined(__AVX512F__)
  return F(_mm512_sqrt_ps(__m512(x)));
#elif defined(__AVX2__)
  return F(_mm256_sqrt_ps(__m256(x)));
#else
  for (int i = 0; i < lanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

inline D square_root(D x) {
#if defined(__AVX512F__)
  return D(_mm512_sqrt_pd(__m512d(x)));
#elif defined(__AVX2__)
  return D(_mm256_sqrt_pd(__m256d(x)));
#else
  for (int i = 0; i < lanes / 2; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/// Rounds to nearest, ties to even.
inline F nearest(F x) {
#if defined(__AVX512F__)
  return F(_mm512_roundscale_ps(__m512(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__AVX2__)
  return F(_mm256_round_ps(__m256(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  for (int i = 0; i < lanes; ++i) x[i] = __builtin_nearbyintf(x[i]);
  return x;
#endif
}

inline F magnitude(F x) {
  return as_float(as_bits(x) & 0x7FFFFFFF);
}
inline F with_sign_of(F x, F sign) {
  return as_float((as_bits(x) & 0x7FFFFFFF) | (as_bits(sign) & INT32_MIN));
}
/// x where it is NaN: what these instructions give where an operand is NaN is their second one.
inline F at_least(F x, float low) {
#if LANNER_SIMD_BYTES == 64
  return F(_mm512_max_ps(__m512(splat(low)), __m512(x)));
#elif LANNER_SIMD_BYTES == 32
  return F(_mm256_max_ps(__m256(splat(low)), __m256(x)));
#else
  return x < low ? splat(low) : x;
#endif
}
inline F at_most(F x, float high) {
#if LANNER_SIMD_BYTES == 64
  return F(_mm512_min_ps(__m512(splat(high)), __m512(x)));
#elif LANNER_SIMD_BYTES == 32
  return F(_mm256_min_ps(__m256(splat(high)), __m256(x)));
#else
  return x > high ? splat(high) : x;
#endif
}

} // namespace lanner::LANNER_SIMD
