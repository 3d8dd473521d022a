#pragma once
// The loops of block.h: products and gathering here, the others in the headers it includes.

#include <utility>

#include "backends/contraction/block.h"
#include "backends/contraction/block_vectors.h"
#include "backends/contraction/depthwise_loops.h"
#include "backends/contraction/finish_loops.h"

namespace lanner::LANNER_SIMD {

#if LANNER_SIMD_BYTES == 64
inline constexpr const char *pairs_name = "avx512", *quads_name = "avx512_vnni";
#elif LANNER_SIMD_BYTES == 32
inline constexpr const char *pairs_name = "avx2", *quads_name = "avx_vnni";
#else
inline constexpr const char *pairs_name = "baseline", *quads_name = "baseline_quads";
#endif

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
void multiply_rows(const BlockProduct& p) {
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
void multiply_some(const BlockProduct& product, int rows,
                   std::integer_sequence<int, less_one...> /*counts*/) {
  using Multiply = void (*)(const BlockProduct&);
  static constexpr Multiply whole[] = {multiply_rows<Form, less_one + 1, 2>...};
  static constexpr Multiply half[] = {multiply_rows<Form, less_one + 1, 1>...};
  (product.half ? half : whole)[rows - 1](product);
}
template<typename Form>
void multiply_int8(const BlockProduct& product, int rows) {
  multiply_some<Form>(product, rows, std::make_integer_sequence<int, block_rows>{});
}

template<bool is_signed>
void widen_words(const RowRuns& runs) {
  const RowRuns w = runs;
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

inline void widen_pairs(const RowRuns& runs) {
  runs.is_signed ? widen_words<true>(runs) : widen_words<false>(runs);
}

inline void widen_quads(const RowRuns& runs) {
  const RowRuns w = runs;
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

inline void take_zeros(const std::int32_t* zeros, std::int32_t row_sum, std::int64_t columns,
                       std::int32_t* sums) {
  // Modulo 2^32, as the sums are until all their parts are added.
  const auto factor = static_cast<std::uint32_t>(row_sum);
  for (std::int64_t i = 0; i < columns; ++i)
    sums[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) -
                                        static_cast<std::uint32_t>(zeros[i]) * factor);
}

constexpr BlockFunctions int8_pairs() {
  return {.name = pairs_name,
          .unit = 2,
          .width = block_width,
          .max_rows = block_rows,
          .multiply_signed = multiply_int8<Pairs<true>>,
          .multiply_unsigned = multiply_int8<Pairs<false>>,
          .widen = widen_pairs,
          .take_zeros = take_zeros,
          .finish_f32 = finish_f32<std::int32_t>,
          .finish_bytes = finish_bytes<std::int32_t>,
          .finish_depthwise_f32 = finish_f32<float>,
          .finish_depthwise_bytes = finish_bytes<float>,
          .finish_bf16 = finish_bf16,
          .quantise = quantise,
          .dequantise = dequantise,
          .depthwise = depthwise,
          .to_floats = to_floats};
}

constexpr BlockFunctions int8_quads() {
  BlockFunctions functions = int8_pairs();
  functions.name = quads_name;
  functions.unit = 4;
  functions.multiply_signed = multiply_int8<Quads>;
  functions.multiply_unsigned = nullptr;
  functions.widen = widen_quads;
  return functions;
}

} // namespace lanner::LANNER_SIMD
