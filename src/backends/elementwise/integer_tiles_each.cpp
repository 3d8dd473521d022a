// Compiled once for each instruction set.

#include <type_traits>

#include "backends/cpu/simd.h"
#include "backends/elementwise/integer_tiles.h"

namespace lanner {
namespace LANNER_SIMD {
namespace {

/// `lanes` integers as floats.
template<typename T>
F load_integers(const T* from) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 1) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return F(
        _mm512_cvtepi32_ps(std::is_signed_v<T> ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes)));
  } else if constexpr (sizeof(T) == 2) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return F(_mm512_cvtepi32_ps(std::is_signed_v<T> ? _mm512_cvtepi16_epi32(words)
                                                    : _mm512_cvtepu16_epi32(words)));
  } else {
    return F(_mm512_cvtepi32_ps(_mm512_loadu_si512(from)));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 1) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return F(
        _mm256_cvtepi32_ps(std::is_signed_v<T> ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes)));
  } else if constexpr (sizeof(T) == 2) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return F(_mm256_cvtepi32_ps(std::is_signed_v<T> ? _mm256_cvtepi16_epi32(words)
                                                    : _mm256_cvtepu16_epi32(words)));
  } else {
    return F(_mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  }
#else
  I whole;
  for (int i = 0; i < lanes; ++i) whole[i] = from[i];
  return to_float(whole);
#endif
}

template<typename T>
void read(const void* source, float* to, std::int64_t count, float zero, float scale) {
  const T* from = static_cast<const T*>(source);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, (load_integers(from + i) - zero) * scale);
  for (; i < count; ++i) to[i] = (static_cast<float>(from[i]) - zero) * scale;
}

/// Integers within the range of T, from `lanes` reals.
template<typename T>
F quantized(F x, float zero, float scale) {
  constexpr int bits = 8 * sizeof(T);
  constexpr float least = std::is_signed_v<T> ? -static_cast<float>(1 << (bits - 1)) : 0.0F,
                  most = least + static_cast<float>((1 << bits) - 1);
  const F whole = nearest(x / scale) + zero;
  return at_most(whole >= least ? whole : splat(least), most);
}

/// Packs `F stored_vectors[]`, integers within the range of T.
#if defined(__AVX512F__)
constexpr int stored_vectors = 1;
template<typename T>
void store_integers(T* to, const F* from) {
  const __m512i whole = _mm512_cvtps_epi32(__m512(from[0]));
  if constexpr (sizeof(T) == 1)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(whole));
  else
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(whole));
}
#elif defined(__AVX2__)
constexpr int stored_vectors = 4;
template<typename T>
void store_integers(T* to, const F* from) {
  const auto words = [&](int i) { // packing works within halves of a register
    const __m256i a = _mm256_cvtps_epi32(__m256(from[i])), b = _mm256_cvtps_epi32(__m256(from[i + 1]));
    return std::is_signed_v<T> || sizeof(T) == 1 ? _mm256_packs_epi32(a, b) : _mm256_packus_epi32(a, b);
  };
  const __m256i first = words(0), second = words(2);
  auto* const target = reinterpret_cast<__m256i*>(to);
  if constexpr (sizeof(T) == 1) {
    const __m256i bytes =
        std::is_signed_v<T> ? _mm256_packs_epi16(first, second) : _mm256_packus_epi16(first, second);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(target, _mm256_permutevar8x32_epi32(bytes, order));
  } else {
    _mm256_storeu_si256(target, _mm256_permute4x64_epi64(first, 0xD8));
    _mm256_storeu_si256(target + 1, _mm256_permute4x64_epi64(second, 0xD8));
  }
}
#else
constexpr int stored_vectors = 1;
template<typename T>
void store_integers(T* to, const F* from) {
  const I whole = to_int(from[0]);
  for (int i = 0; i < lanes; ++i) to[i] = static_cast<T>(whole[i]);
}
#endif

template<typename T>
void write(const float* from, void* target, std::int64_t count, float zero, float scale) {
  T* const to = static_cast<T*>(target);
  std::int64_t i = 0;
  for (; i + stored_vectors * lanes <= count; i += stored_vectors * lanes) {
    F whole[stored_vectors];
    for (int k = 0; k < stored_vectors; ++k) whole[k] = quantized<T>(load(from + i + k * lanes), zero, scale);
    store_integers(to + i, whole);
  }
  for (; i < count; i += lanes) {
    const std::int64_t some = count - i < lanes ? count - i : lanes;
    const I whole = to_int(quantized<T>(load_up_to(from + i, some), zero, scale));
    for (std::int64_t k = 0; k < some; ++k) to[i + k] = static_cast<T>(whole[k]);
  }
}

constexpr IntegerTiles::Functions functions[] = {{DType::i8, read<std::int8_t>, write<std::int8_t>},
                                                 {DType::u8, read<std::uint8_t>, write<std::uint8_t>},
                                                 {DType::i16, read<std::int16_t>, write<std::int16_t>},
                                                 {DType::u16, read<std::uint16_t>, write<std::uint16_t>},
                                                 {DType::i32, read<std::int32_t>, nullptr}};
static_assert(sizeof(functions) / sizeof(functions[0]) == IntegerTiles::types);

} // namespace
} // namespace LANNER_SIMD

IntegerTiles LANNER_FOR_ISA(integer_tiles)() {
  return {LANNER_SIMD::functions};
}

} // namespace lanner
