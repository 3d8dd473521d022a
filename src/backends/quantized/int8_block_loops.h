#pragma once
// The loops of int8_block.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include <type_traits>
#include <utility>

#include "backends/cpu/simd.h"
#include "backends/quantized/int8_block.h"

#if defined(__SSE2__) && !defined(__AVX2__)
#include <emmintrin.h>
#endif

namespace lanner::LANNER_SIMD {

/// Two vectors of sums for each row.
inline constexpr std::int64_t int8_width = 2 * lanes;
/// The sums of as many rows as leave registers for two vectors of weights, a row's numbers and a product.
inline constexpr int int8_rows = LANNER_SIMD_BYTES == 64 ? 12 : LANNER_SIMD_BYTES == 32 ? 6 : 4;

#if LANNER_SIMD_BYTES == 64
inline constexpr const char *pairs_name = "avx512", *quads_name = "avx512_vnni";
#elif LANNER_SIMD_BYTES == 32
inline constexpr const char *pairs_name = "avx2", *quads_name = "avx_vnni";
#else
inline constexpr const char *pairs_name = "baseline", *quads_name = "baseline_quads";
#endif

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

/// The same four bytes in each lane.
inline U splat_step(const std::byte* from) {
  const auto step = load_as<std::uint32_t>(from);
#if LANNER_SIMD_BYTES == 64
  return U(_mm512_set1_epi32(static_cast<int>(step)));
#elif LANNER_SIMD_BYTES == 32
  return U(_mm256_set1_epi32(static_cast<int>(step)));
#else
  return U{step, step, step, step};
#endif
}

/// As many bytes as a vector has 16-bit numbers.
template<bool is_signed>
U words_of(const std::byte* from) {
#if LANNER_SIMD_BYTES == 64
  const __m256i bytes = load_as<__m256i>(from);
  return U(is_signed ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes));
#elif LANNER_SIMD_BYTES == 32
  const __m128i bytes = load_as<__m128i>(from);
  return U(is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes));
#else
  using Bytes = std::conditional_t<is_signed, HalfBytes, HalfUnsignedBytes>;
  return U(__builtin_convertvector(load_as<Bytes>(from), Words));
#endif
}

/// Steps of two 16-bit numbers. Nothing saturates: sums of 8-bit products in 16 bits, as vpmaddubsw has them,
/// would.
template<bool is_signed>
struct Pairs {
  static constexpr std::int64_t bytes = 2 * lanes; ///< Of a vector's columns in one step.
  static U weights(const std::byte* from) { return words_of<is_signed>(from); }
  static void add(U& sums, U x, U weights) {
#if LANNER_SIMD_BYTES == 64
    sums += U(_mm512_madd_epi16(__m512i(x), __m512i(weights)));
#elif LANNER_SIMD_BYTES == 32
    sums += U(_mm256_madd_epi16(__m256i(x), __m256i(weights)));
#elif defined(__SSE2__)
    sums += U(_mm_madd_epi16(__m128i(x), __m128i(weights)));
#else
    const auto first = [](U pairs) { return I(pairs << 16) >> 16; };
    sums += U(first(x) * first(weights)) + U((I(x) >> 16) * (I(weights) >> 16));
#endif
  }
};

/// Steps of four bytes, unsigned in rows and signed in weights, by VNNI's vpdpbusd: in assembly, as
/// intrinsics would need all of this compiled another time for processors that have it.
struct Quads {
  static constexpr std::int64_t bytes = 4 * lanes;
  static U weights(const std::byte* from) { return load_as<U>(from); }
  static void add(U& sums, U x, U weights) {
#if LANNER_SIMD_BYTES == 64
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(weights));
#elif LANNER_SIMD_BYTES == 32
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(x), "x"(weights));
#else
    std::uint8_t left[bytes];
    std::int8_t right[bytes];
    std::memcpy(left, &x, bytes);
    std::memcpy(right, &weights, bytes);
    for (std::int64_t i = 0; i < bytes; ++i)
      sums[i / 4] += static_cast<std::uint32_t>(static_cast<int>(left[i]) * static_cast<int>(right[i]));
#endif
  }
};

template<typename Form, int rows>
void multiply_rows(const Int8Product& p) {
  U low[rows], high[rows];
  const std::byte* row[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    low[r] = load_as<U>(p.start);
    high[r] = load_as<U>(p.start + lanes);
    row[r] = p.rows + r * p.row_bytes;
  }
  const std::byte* panel = p.panel;
  const std::int64_t bytes = 4 * p.steps;
  for (std::int64_t at = 0; at < bytes; at += 4, panel += 2 * Form::bytes) {
    const U left = Form::weights(panel), right = Form::weights(panel + Form::bytes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const U x = splat_step(row[r] + at);
      Form::add(low[r], x, left);
      Form::add(high[r], x, right);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    store_as(p.sums + r * p.sums_stride, low[r]);
    store_as(p.sums + r * p.sums_stride + lanes, high[r]);
  }
}

template<typename Form, int... less_one>
void multiply_some(const Int8Product& product, int rows, std::integer_sequence<int, less_one...> /*counts*/) {
  static constexpr void (*functions[])(const Int8Product&) = {multiply_rows<Form, less_one + 1>...};
  functions[rows - 1](product);
}
template<typename Form>
void multiply_int8(const Int8Product& product, int rows) {
  multiply_some<Form>(product, rows, std::make_integer_sequence<int, int8_rows>{});
}

template<bool is_signed>
void widen_words(const std::byte* from, std::int64_t count, int zero, std::byte* to) {
  const auto shift = static_cast<std::int16_t>(zero);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes)
    store_as(to + 2 * i, Words(words_of<is_signed>(from + i)) - shift);
  for (; i < count; ++i) {
    const int x = is_signed ? static_cast<int>(static_cast<std::int8_t>(from[i])) : static_cast<int>(from[i]);
    store_as(to + 2 * i, static_cast<std::int16_t>(x - zero));
  }
}

inline void widen_pairs(const std::byte* from, std::int64_t count, bool is_signed, int zero, std::byte* to) {
  is_signed ? widen_words<true>(from, count, zero, to) : widen_words<false>(from, count, zero, to);
}

inline void widen_quads(const std::byte* from, std::int64_t count, bool is_signed, int /*zero*/,
                        std::byte* to) {
  if (!is_signed) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) store_as(to + i, load_as<U>(from + i) ^ 0x80808080U);
  for (; i < count; ++i) to[i] = from[i] ^ std::byte{0x80};
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

/// The nearest integers, ties to even, of numbers within an i32's range.
inline I nearest_ints(F x) {
#if LANNER_SIMD_BYTES == 64
  return I(_mm512_cvtps_epi32(__m512(x)));
#elif LANNER_SIMD_BYTES == 32
  return I(_mm256_cvtps_epi32(__m256(x)));
#elif defined(__SSE2__)
  return I(_mm_cvtps_epi32(__m128(x)));
#else
  return to_int(nearest(x));
#endif
}

/// Stores the low byte of each of int8_width integers, of which the 16-bit part is their value.
inline void store_bytes(std::byte* to, I low, I high) {
#if LANNER_SIMD_BYTES == 64
  store_as(to, _mm512_cvtepi32_epi8(__m512i(low)));
  store_as(to + lanes, _mm512_cvtepi32_epi8(__m512i(high)));
#elif LANNER_SIMD_BYTES == 32
  const __m256i words =
      _mm256_and_si256(_mm256_packs_epi32(__m256i(low), __m256i(high)), _mm256_set1_epi16(0xFF));
  const __m256i ordered = _mm256_permute4x64_epi64(words, 0xD8);
  store_as(to, _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1)));
#else
  for (std::int64_t i = 0; i < lanes; ++i) {
    to[i] = static_cast<std::byte>(low[i]);
    to[lanes + i] = static_cast<std::byte>(high[i]);
  }
#endif
}
inline void store_bytes(std::byte* to, I low, I high, std::int64_t count) {
  if (count >= int8_width) return store_bytes(to, low, high);
  std::byte all[int8_width];
  store_bytes(all, low, high);
  std::memcpy(to, all, static_cast<std::size_t>(count));
}

inline F sums_of(const std::int32_t* from) {
  return to_float(load_as<I>(from));
}
inline F sums_of(const float* from) {
  return load(from);
}

template<typename Sum>
void finish_f32(const Sum* sums, const Int8Finish& f) {
  for (std::int64_t row = 0; row < f.rows; ++row) {
    const Sum* from = sums + row * f.sums_stride;
    auto* const out = reinterpret_cast<float*>(f.out + row * f.out_stride);
    each_vector(f.columns, [&](std::int64_t i, std::int64_t count) {
      const F y = multiply_add(sums_of(from + i), load(f.multiplier + i), load(f.bias + i));
      store_up_to(out + i, at_most(at_least(y, f.low), f.high), count);
    });
  }
}

/// None, bytes of i8, bytes of u8.
enum class Added : std::uint8_t { none, i8, u8 };

template<Added kind>
F added_to(F y, const std::byte* from, F scale) {
  if constexpr (kind == Added::none) return y;
  return multiply_add(floats_of<kind == Added::i8>(from), scale, y);
}

template<typename Sum, Added kind>
void finish_bytes_of(const Sum* sums, const Int8Finish& f) {
  const F low = splat(f.low), high = splat(f.high), scale = splat(f.added_scale);
  const auto stored = [&](F y) {
    y = y > low ? y : low;
    y = y < high ? y : high;
    return nearest_ints(y) + f.zero;
  };
  for (std::int64_t row = 0; row < f.rows; ++row) {
    const Sum* from = sums + row * f.sums_stride;
    const std::byte* added = f.added + row * f.added_stride;
    std::byte* const out = f.out + row * f.out_stride;
    for (std::int64_t i = 0; i < f.columns; i += int8_width) {
      const std::int64_t count = f.columns - i;
      std::byte last[int8_width] = {};
      const std::byte* operand = added + i;
      if (kind != Added::none && count < int8_width) {
        std::memcpy(last, operand, static_cast<std::size_t>(count));
        operand = last;
      }
      const F first = multiply_add(sums_of(from + i), load(f.multiplier + i), load(f.bias + i));
      const F second =
          multiply_add(sums_of(from + i + lanes), load(f.multiplier + i + lanes), load(f.bias + i + lanes));
      store_bytes(out + i, stored(added_to<kind>(first, operand, scale)),
                  stored(added_to<kind>(second, operand + lanes, scale)), count);
    }
  }
}

template<typename Sum>
void finish_bytes(const Sum* sums, const Int8Finish& finish) {
  if (!finish.added) return finish_bytes_of<Sum, Added::none>(sums, finish);
  finish.added_signed ? finish_bytes_of<Sum, Added::i8>(sums, finish)
                      : finish_bytes_of<Sum, Added::u8>(sums, finish);
}

inline void quantise(const float* from, float scale, const Int8Finish& f) {
  const F low = splat(f.low), zero = splat(static_cast<float>(f.zero)), divisor = splat(scale);
  const auto stored = [&](F x) {
    const F y = nearest(x / divisor) + zero;
    return nearest_ints(at_most(y > low ? y : low, f.high)); // NaN compares false.
  };
  for (std::int64_t row = 0; row < f.rows; ++row, from += f.sums_stride) {
    std::byte* const out = f.out + row * f.out_stride;
    for (std::int64_t i = 0; i < f.columns; i += int8_width)
      store_bytes(out + i, stored(load(from + i)), stored(load(from + i + lanes)), f.columns - i);
  }
}

template<bool is_signed>
void dequantise_as(const std::byte* from, std::int64_t count, float zero, float scale, float* out) {
  each_vector(count, [&](std::int64_t i, std::int64_t some) {
    std::byte last[lanes] = {};
    if (some < lanes) std::memcpy(last, from + i, static_cast<std::size_t>(some));
    const F stored = floats_of<is_signed>(some < lanes ? last : from + i);
    store_up_to(out + i, (stored - splat(zero)) * splat(scale), some);
  });
}

inline void dequantise(const std::byte* from, std::int64_t count, bool is_signed, float zero, float scale,
                       float* out) {
  is_signed ? dequantise_as<true>(from, count, zero, scale, out)
            : dequantise_as<false>(from, count, zero, scale, out);
}

template<int pixels>
void depthwise_pixels(const Int8Depthwise& d, std::int64_t first) {
  F low[pixels] = {}, high[pixels] = {};
  const float* weights = d.weights;
  for (std::int64_t y = 0; y < d.kernel_height; ++y) {
    const float* from = d.rows[y] + first * d.stride;
    for (std::int64_t x = 0; x < d.kernel_width; ++x, from += d.dilation, weights += int8_width) {
      const F left = load(weights), right = load(weights + lanes);
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) {
        low[p] = multiply_add(load(from + p * d.stride), left, low[p]);
        high[p] = multiply_add(load(from + p * d.stride + lanes), right, high[p]);
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < pixels; ++p) {
    store(d.sums + (first + p) * int8_width, low[p]);
    store(d.sums + (first + p) * int8_width + lanes, high[p]);
  }
}

inline void depthwise(const Int8Depthwise& row) {
  std::int64_t pixel = 0;
  for (; pixel + 4 <= row.pixels; pixel += 4) depthwise_pixels<4>(row, pixel);
  for (; pixel < row.pixels; ++pixel) depthwise_pixels<1>(row, pixel);
}

template<bool is_signed>
void to_floats_as(const Int8Pixels& p, float* out) {
  const F zero = splat(static_cast<float>(p.zero));
  float ones[int8_width];
  for (std::int64_t c = 0; c < int8_width; ++c) ones[c] = c < p.channels ? 1.0F : 0.0F;
  const F low = load(ones), high = load(ones + lanes);
  const std::byte* const end = p.from + (p.pixels - 1) * p.stride + p.channels;
  for (std::int64_t pixel = 0; pixel < p.pixels; ++pixel, out += int8_width) {
    const std::byte* from = p.from + pixel * p.stride;
    std::byte last[int8_width] = {};
    if (end - from < int8_width) { // Fewer bytes than whole vectors are left.
      std::memcpy(last, from, static_cast<std::size_t>(p.channels));
      from = last;
    }
    store(out, (floats_of<is_signed>(from) - zero) * low);
    store(out + lanes, (floats_of<is_signed>(from + lanes) - zero) * high);
  }
}

inline void to_floats(const Int8Pixels& pixels, float* out) {
  pixels.is_signed ? to_floats_as<true>(pixels, out) : to_floats_as<false>(pixels, out);
}

constexpr Int8Functions int8_pairs() {
  return {.name = pairs_name,
          .unit = 2,
          .width = int8_width,
          .max_rows = int8_rows,
          .multiply_signed = multiply_int8<Pairs<true>>,
          .multiply_unsigned = multiply_int8<Pairs<false>>,
          .widen = widen_pairs,
          .finish_f32 = finish_f32<std::int32_t>,
          .finish_bytes = finish_bytes<std::int32_t>,
          .finish_depthwise_f32 = finish_f32<float>,
          .finish_depthwise_bytes = finish_bytes<float>,
          .quantise = quantise,
          .dequantise = dequantise,
          .depthwise = depthwise,
          .to_floats = to_floats};
}

constexpr Int8Functions int8_quads() {
  Int8Functions functions = int8_pairs();
  functions.name = quads_name;
  functions.unit = 4;
  functions.multiply_signed = multiply_int8<Quads>;
  functions.multiply_unsigned = nullptr;
  functions.widen = widen_quads;
  return functions;
}

} // namespace lanner::LANNER_SIMD
