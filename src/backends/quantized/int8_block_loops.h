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

template<typename Form, int rows, int vectors>
void multiply_rows(const Int8Product& p) {
  U sums[rows][vectors];
  const std::byte* row[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) sums[r][v] = load_as<U>(p.start + v * lanes);
    row[r] = p.rows + r * p.row_bytes;
  }
  const std::byte* panel = p.panel;
  const std::int64_t bytes = 4 * p.steps;
  for (std::int64_t at = 0; at < bytes; at += 4, panel += 2 * Form::bytes) {
    U weights[vectors];
    for (int v = 0; v < vectors; ++v) weights[v] = Form::weights(panel + v * Form::bytes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const U x = splat_step(row[r] + at);
      for (int v = 0; v < vectors; ++v) Form::add(sums[r][v], x, weights[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) store_as(p.sums + r * p.sums_stride + v * lanes, sums[r][v]);
}

template<typename Form, int... less_one>
void multiply_some(const Int8Product& product, int rows, std::integer_sequence<int, less_one...> /*counts*/) {
  using Multiply = void (*)(const Int8Product&);
  static constexpr Multiply whole[] = {multiply_rows<Form, less_one + 1, 2>...};
  static constexpr Multiply half[] = {multiply_rows<Form, less_one + 1, 1>...};
  (product.half ? half : whole)[rows - 1](product);
}
template<typename Form>
void multiply_int8(const Int8Product& product, int rows) {
  multiply_some<Form>(product, rows, std::make_integer_sequence<int, int8_rows>{});
}

template<bool is_signed>
void widen_words(const Int8Runs& runs) {
  const Int8Runs w = runs;
  const auto shift = static_cast<std::int16_t>(w.zero);
  for (std::int64_t run = 0; run < w.runs; ++run) {
    const std::byte* from = w.from + run * w.from_stride;
    std::byte* const to = w.to + run * w.to_stride;
    std::int64_t i = 0;
    for (; i < w.bytes && w.end - from - i >= 2 * lanes; i += 2 * lanes)
      store_as(to + 2 * i, Words(words_of<is_signed>(from + i)) - shift);
    for (; i < w.bytes; ++i) {
      const int x =
          is_signed ? static_cast<int>(static_cast<std::int8_t>(from[i])) : static_cast<int>(from[i]);
      store_as(to + 2 * i, static_cast<std::int16_t>(x - w.zero));
    }
    if (w.bytes % 2 != 0) store_as(to + 2 * w.bytes, std::int16_t{0});
  }
}

inline void widen_pairs(const Int8Runs& runs) {
  runs.is_signed ? widen_words<true>(runs) : widen_words<false>(runs);
}

inline void widen_quads(const Int8Runs& runs) {
  const Int8Runs w = runs;
  const std::uint32_t shift = w.is_signed ? 0x80808080U : 0;
  for (std::int64_t run = 0; run < w.runs; ++run) {
    const std::byte* from = w.from + run * w.from_stride;
    std::byte* const to = w.to + run * w.to_stride;
    std::int64_t i = 0;
    for (; i < w.bytes && w.end - from - i >= 4 * lanes; i += 4 * lanes)
      store_as(to + i, load_as<U>(from + i) ^ shift);
    for (; i < w.bytes; ++i) to[i] = from[i] ^ static_cast<std::byte>(shift);
    for (i = w.bytes; i % 4 != 0; ++i) to[i] = std::byte{0};
  }
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

/// Clamps integers plus a zero point, and stores their low bytes.
template<bool is_signed>
class ByteStore {
public:
  explicit ByteStore(const Int8Finish& f)
#if LANNER_SIMD_BYTES == 32
      : zero_(_mm256_set1_epi16(static_cast<short>(f.zero))),
        least_(_mm_set1_epi8(static_cast<char>(f.least))), most_(_mm_set1_epi8(static_cast<char>(f.most))){}
#else
      : zero_(f.zero), least_(f.least), most_(f.most) {
  }
#endif

        /// Up to int8_width of them.
        void
        operator()(std::byte* to, I low, I high, std::int64_t count) const {
    if (count >= int8_width) return store_all(to, low, high);
    std::byte all[int8_width];
    store_all(all, low, high);
    std::memcpy(to, all, static_cast<std::size_t>(count));
  }

private:
#if LANNER_SIMD_BYTES == 32
  /// In 16 bits, which saturate on the way as a clamp would.
  void store_all(std::byte* to, I low, I high) const {
    const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(__m256i(low), __m256i(high)), zero_);
    const __m128i first = _mm256_castsi256_si128(words), second = _mm256_extracti128_si256(words, 1);
    __m128i bytes = is_signed ? _mm_packs_epi16(first, second) : _mm_packus_epi16(first, second);
    bytes = is_signed ? _mm_min_epi8(_mm_max_epi8(bytes, least_), most_)
                      : _mm_min_epu8(_mm_max_epu8(bytes, least_), most_);
    store_as(to, _mm_shuffle_epi32(bytes, 0xD8)); // Lanes of the two vectors alternate.
  }
  __m256i zero_;
  __m128i least_, most_;
#else
  I clamped(I x) const {
    x += zero_;
    x = x > least_ ? x : I{} + least_;
    return x < most_ ? x : I{} + most_;
  }
  void store_all(std::byte* to, I low, I high) const {
    low = clamped(low);
    high = clamped(high);
#if LANNER_SIMD_BYTES == 64
    store_as(to, _mm512_cvtepi32_epi8(__m512i(low)));
    store_as(to + lanes, _mm512_cvtepi32_epi8(__m512i(high)));
#else
    for (std::int64_t i = 0; i < lanes; ++i) {
      to[i] = static_cast<std::byte>(low[i]);
      to[lanes + i] = static_cast<std::byte>(high[i]);
    }
#endif
  }
  std::int32_t zero_, least_, most_;
#endif
};

inline F sums_of(const std::int32_t* from) {
  return to_float(load_as<I>(from));
}
inline F sums_of(const float* from) {
  return load(from);
}

// Copies of arguments, as stores of bytes might change what references name.

template<typename Sum>
void finish_f32(const Sum* sums, const Int8Finish& finish) {
  const Int8Finish f = finish;
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

/// int8_width columns of all rows, of which `count` are results.
template<typename Sum, Added kind, bool is_signed>
void finish_columns(const Sum* sums, const Int8Finish& finish, std::int64_t column, std::int64_t count) {
  const Int8Finish f = finish;
  const ByteStore<is_signed> store_bytes(f);
  const F scale = splat(f.added_scale);
  const F first_multiplier = load(f.multiplier + column), first_bias = load(f.bias + column);
  const F second_multiplier = load(f.multiplier + column + lanes),
          second_bias = load(f.bias + column + lanes);
  sums += column;
  const std::byte* added = f.added + column;
  std::byte* out = f.out + column;
  for (std::int64_t row = 0; row < f.rows; ++row) {
    const std::byte* operand = added;
    std::byte last[int8_width] = {};
    if (kind != Added::none && count < int8_width) {
      std::memcpy(last, added, static_cast<std::size_t>(count));
      operand = last;
    }
    const F first = multiply_add(sums_of(sums), first_multiplier, first_bias);
    const F second = multiply_add(sums_of(sums + lanes), second_multiplier, second_bias);
    store_bytes(out, nearest_ints(added_to<kind>(first, operand, scale)),
                nearest_ints(added_to<kind>(second, operand + lanes, scale)), count);
    sums += f.sums_stride;
    added += f.added_stride;
    out += f.out_stride;
  }
}

template<typename Sum, Added kind>
void finish_bytes_of(const Sum* sums, const Int8Finish& f) {
  for (std::int64_t column = 0; column < f.columns; column += int8_width)
    f.is_signed ? finish_columns<Sum, kind, true>(sums, f, column, f.columns - column)
                : finish_columns<Sum, kind, false>(sums, f, column, f.columns - column);
}

template<typename Sum>
void finish_bytes(const Sum* sums, const Int8Finish& finish) {
  if (!finish.added) return finish_bytes_of<Sum, Added::none>(sums, finish);
  finish.added_signed ? finish_bytes_of<Sum, Added::i8>(sums, finish)
                      : finish_bytes_of<Sum, Added::u8>(sums, finish);
}

template<bool is_signed>
void quantise_as(const float* from, float scale, const Int8Finish& finish) {
  const Int8Finish f = finish;
  const ByteStore<is_signed> store_bytes(f);
  const F low = splat(static_cast<float>(f.least - f.zero)), divisor = splat(scale);
  const float high = static_cast<float>(f.most - f.zero);
  const auto rounded = [&](F x) {
    const F y = nearest(x / divisor);
    return nearest_ints(at_most(y > low ? y : low, high)); // NaN compares false.
  };
  for (std::int64_t row = 0; row < f.rows; ++row, from += f.sums_stride)
    for (std::int64_t i = 0; i < f.columns; i += int8_width)
      store_bytes(f.out + row * f.out_stride + i, rounded(load(from + i)), rounded(load(from + i + lanes)),
                  f.columns - i);
}

inline void quantise(const float* from, float scale, const Int8Finish& finish) {
  finish.is_signed ? quantise_as<true>(from, scale, finish) : quantise_as<false>(from, scale, finish);
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

/// The sums of neighbouring pixels.
template<int pixels>
struct PixelSums {
  F low[pixels] = {}, high[pixels] = {};

  void store_at(float* to) const {
#pragma GCC unroll 8
    for (int p = 0; p < pixels; ++p) {
      store(to + p * int8_width, low[p]);
      store(to + p * int8_width + lanes, high[p]);
    }
  }
};

template<int pixels>
void depthwise_pixels(const Int8Depthwise& d, std::int64_t first) {
  PixelSums<pixels> sums;
  const float* weights = d.weights;
  for (std::int64_t y = 0; y < d.kernel_height; ++y) {
    const float* from = d.rows[y] + first * d.stride;
    for (std::int64_t x = 0; x < d.kernel_width; ++x, from += d.dilation, weights += int8_width) {
      const F left = load(weights), right = load(weights + lanes);
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) {
        sums.low[p] = multiply_add(load(from + p * d.stride), left, sums.low[p]);
        sums.high[p] = multiply_add(load(from + p * d.stride + lanes), right, sums.high[p]);
      }
    }
  }
  sums.store_at(d.sums + first * int8_width);
}

/// The same without dilation for kernels and strides known here: each pixel of x is loaded once for all
/// results that it is part of.
template<int pixels, int kernel, int stride>
void depthwise_pixels_of(const Int8Depthwise& d, std::int64_t first) {
  PixelSums<pixels> sums;
  const float* weights = d.weights;
  for (std::int64_t y = 0; y < d.kernel_height; ++y, weights += kernel * int8_width) {
    const float* from = d.rows[y] + first * stride * int8_width;
#pragma GCC unroll 32
    for (int x = 0; x < (pixels - 1) * stride + kernel; ++x) {
      const F left = load(from + x * int8_width), right = load(from + x * int8_width + lanes);
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) {
        const int tap = x - p * stride;
        if (tap < 0 || tap >= kernel) continue;
        sums.low[p] = multiply_add(left, load(weights + tap * int8_width), sums.low[p]);
        sums.high[p] = multiply_add(right, load(weights + tap * int8_width + lanes), sums.high[p]);
      }
    }
  }
  sums.store_at(d.sums + first * int8_width);
}

/// Calls `some<pixels>(first)` for all pixels of a row.
template<typename Four, typename Three, typename Two, typename One>
void each_four(std::int64_t pixels, Four four, Three three, Two two, One one) {
  std::int64_t pixel = 0;
  for (; pixel + 4 <= pixels; pixel += 4) four(pixel);
  if (pixels - pixel == 3) three(pixel);
  if (pixels - pixel == 2) two(pixel);
  if (pixels - pixel == 1) one(pixel);
}

template<int kernel, int stride>
void depthwise_row_of(const Int8Depthwise& d) {
  each_four(
      d.pixels, [&](std::int64_t first) { depthwise_pixels_of<4, kernel, stride>(d, first); },
      [&](std::int64_t first) { depthwise_pixels_of<3, kernel, stride>(d, first); },
      [&](std::int64_t first) { depthwise_pixels_of<2, kernel, stride>(d, first); },
      [&](std::int64_t first) { depthwise_pixels_of<1, kernel, stride>(d, first); });
}

inline void depthwise(const Int8Depthwise& row) {
  const Int8Depthwise d = row;
  const bool dense = d.dilation == int8_width;
  const auto is = [&](std::int64_t kernel, std::int64_t stride) {
    return dense && d.kernel_width == kernel && d.stride == stride * int8_width;
  };
  if (is(3, 1)) return depthwise_row_of<3, 1>(d);
  if (is(3, 2)) return depthwise_row_of<3, 2>(d);
  if (is(5, 1)) return depthwise_row_of<5, 1>(d);
  if (is(5, 2)) return depthwise_row_of<5, 2>(d);
  each_four(
      d.pixels, [&](std::int64_t first) { depthwise_pixels<4>(d, first); },
      [&](std::int64_t first) { depthwise_pixels<3>(d, first); },
      [&](std::int64_t first) { depthwise_pixels<2>(d, first); },
      [&](std::int64_t first) { depthwise_pixels<1>(d, first); });
}

template<bool is_signed>
void to_floats_as(const Int8Pixels& pixels, float* out) {
  const Int8Pixels p = pixels;
  const F zero = splat(static_cast<float>(p.zero));
  std::int64_t pixel = 0;
  if (p.channels == int8_width)
    for (; pixel < p.pixels; ++pixel, out += int8_width) {
      const std::byte* from = p.from + pixel * p.stride;
      store(out, floats_of<is_signed>(from) - zero);
      store(out + lanes, floats_of<is_signed>(from + lanes) - zero);
    }
  float ones[int8_width];
  for (std::int64_t c = 0; c < int8_width; ++c) ones[c] = c < p.channels ? 1.0F : 0.0F;
  const F low = load(ones), high = load(ones + lanes);
  const std::byte* const end = p.from + (p.pixels - 1) * p.stride + p.channels;
  for (; pixel < p.pixels; ++pixel, out += int8_width) {
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
