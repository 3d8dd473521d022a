#pragma once
// The loops of quantized_panel.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "backends/cpu/simd.h"
#include "backends/product/quantized_panel.h"
#include "backends/product/quantized_strip.h"

namespace lanner::LANNER_SIMD {

/// Depth steps at once: sums are loaded and stored that much less often.
inline constexpr int quantized_steps = 4;

/// 4-bit numbers as bytes, the low nibble first; signed ones are offset by 8.
inline void unpack(const std::byte* from, std::int64_t count, bool is_signed, std::uint8_t* to) {
  const std::uint8_t sign = is_signed ? 8 : 0;
  const std::int64_t bytes = count / 2;
  std::int64_t i = 0;
#if defined(__SSE2__)
  const __m128i low_bits = _mm_set1_epi8(0x0F), signs = _mm_set1_epi8(static_cast<char>(sign));
  for (; i + 16 <= bytes; i += 16) {
    const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m128i low = _mm_xor_si128(_mm_and_si128(pairs, low_bits), signs);
    const __m128i high = _mm_xor_si128(_mm_and_si128(_mm_srli_epi16(pairs, 4), low_bits), signs);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i), _mm_unpacklo_epi8(low, high));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i + 16), _mm_unpackhi_epi8(low, high));
  }
#endif
  for (; i < bytes; ++i) {
    const auto pair = static_cast<std::uint8_t>(from[i]);
    const auto both = static_cast<std::uint16_t>((pair & 0x0F) | ((pair & 0xF0) << 4));
    const auto flipped = static_cast<std::uint16_t>(both ^ (sign * 0x0101));
    std::memcpy(to + 2 * i, &flipped, 2);
  }
  if (count % 2 != 0)
    to[count - 1] = static_cast<std::uint8_t>((static_cast<std::uint8_t>(from[bytes]) & 0x0F) ^ sign);
}

/// As many bytes as there are lanes. GCC 12 scalarises the conversion of vectors from bytes to words.
#if defined(__AVX512F__)
inline F widened(const std::int8_t* from) {
  return F(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))));
}
inline F widened(const std::uint8_t* from) {
  return F(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))));
}
#elif defined(__AVX2__)
inline F widened(const std::int8_t* from) {
  return F(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))));
}
inline F widened(const std::uint8_t* from) {
  return F(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))));
}
#else
template<typename Number>
inline F widened(const Number* from) {
  F result;
  for (int i = 0; i < lanes; ++i) result[i] = static_cast<float>(from[i]);
  return result;
}
#endif

template<typename Number>
inline void widen(const Number* from, std::int64_t count, float less, float* to) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, widened(from + i) - less);
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]) - less;
}

/// Numbers [at, at + count) as floats.
inline void read_numbers(const std::byte* from, StoredWeights stored, std::int64_t at, std::int64_t count,
                         float* to) {
  if (stored == StoredWeights::i8)
    return widen(reinterpret_cast<const std::int8_t*>(from) + at, count, 0, to);
  if (stored == StoredWeights::u8)
    return widen(reinterpret_cast<const std::uint8_t*>(from) + at, count, 0, to);
  std::uint8_t bytes[quantized_width];
  const bool is_signed = stored == StoredWeights::i4;
  unpack(from + at / 2, count, is_signed, bytes);
  widen(bytes, count, is_signed ? 8.0F : 0.0F, to);
}

inline void read_zeros(const QuantizedPanel& p, std::int64_t block, std::int64_t width, float* zeros) {
  for (std::int64_t c = 0; c < width; ++c)
    zeros[c] = c < p.columns
                   ? number_at(p.zero, p.stored, block * p.block_step + (p.first + c) * p.column_step)
                   : 0.0F;
}

/// sums[c] += x[0] * rows[0][c] + x[1] * rows[1][c] + ...
inline void add_steps(const float* x, const float (*rows)[quantized_width], int steps, std::int64_t width,
                      float* sums) {
  if (steps == quantized_steps) {
    const F x0 = splat(x[0]), x1 = splat(x[1]), x2 = splat(x[2]), x3 = splat(x[3]);
    for (std::int64_t c = 0; c < width; c += lanes) {
      F sum = multiply_add(x0, load(rows[0] + c), load(sums + c));
      sum = multiply_add(x1, load(rows[1] + c), sum);
      sum = multiply_add(x2, load(rows[2] + c), sum);
      store(sums + c, multiply_add(x3, load(rows[3] + c), sum));
    }
    return;
  }
  for (int s = 0; s < steps; ++s)
    for (std::int64_t c = 0; c < width; c += lanes)
      store(sums + c, multiply_add(splat(x[s]), load(rows[s] + c), load(sums + c)));
}

inline void run_columns(const QuantizedPanel& p) {
  alignas(64) float rows[quantized_steps][quantized_width];
  alignas(64) float sums[max_quantized_rows][quantized_width];
  alignas(64) float zeros[quantized_width];
  const std::int64_t width = (p.columns + lanes - 1) / lanes * lanes;
  std::memset(rows, 0, sizeof rows); // columns after the last one are added to sums that nothing reads
  for (std::int64_t r = 0; r < p.rows; ++r) std::fill_n(p.out + r * p.out_stride, p.columns, 0.0F);
  for (std::int64_t begin = 0; begin < p.depth; begin += p.block) {
    const std::int64_t end = std::min(p.depth, begin + p.block), block = begin / p.block;
    std::memset(sums, 0, static_cast<std::size_t>(p.rows) * sizeof sums[0]);
    if (p.zero) read_zeros(p, block, width, zeros);
    for (std::int64_t d = begin; d < end; d += quantized_steps) {
      const int steps = static_cast<int>(std::min<std::int64_t>(quantized_steps, end - d));
      for (int s = 0; s < steps; ++s) {
        read_numbers(p.weights, p.stored, (d + s) * p.stride + p.first, p.columns, rows[s]);
        if (p.zero)
          for (std::int64_t c = 0; c < width; c += lanes)
            store(rows[s] + c, load(rows[s] + c) - load(zeros + c));
      }
      for (std::int64_t r = 0; r < p.rows; ++r) add_steps(p.a + r * p.depth + d, rows, steps, width, sums[r]);
    }
    const float* scale = p.scale + block * p.block_step + p.first * p.column_step;
    for (std::int64_t r = 0; r < p.rows; ++r)
      for (std::int64_t c = 0; c < p.columns; ++c)
        p.out[r * p.out_stride + c] += sums[r][c] * scale[c * p.column_step];
  }
}

#if defined(__AVX512F__)
inline void run_quantized(const QuantizedPanel& p) {
  QuantizedPanel rest = p;
  for (; rest.columns >= strip_width; rest = without_strip(rest)) run_strip(rest);
  if (rest.columns > 0) run_columns(rest);
}
#else
inline void run_quantized(const QuantizedPanel& p) {
  run_columns(p);
}
#endif

} // namespace lanner::LANNER_SIMD
