#pragma once
// Products of a few rows whose sums stay in registers, over the vectors of AVX-512; see quantized_loops.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "backends/product/quantized_panel.h"

namespace lanner::LANNER_SIMD {

inline bool is_packed(StoredWeights stored) {
  return stored == StoredWeights::i4 || stored == StoredWeights::u4;
}

/// One zero point, at any bit offset.
inline float number_at(const std::byte* from, StoredWeights stored, std::int64_t at) {
  if (stored == StoredWeights::i8) return static_cast<float>(reinterpret_cast<const std::int8_t*>(from)[at]);
  if (stored == StoredWeights::u8) return static_cast<float>(static_cast<std::uint8_t>(from[at]));
  const auto pair = static_cast<std::uint8_t>(from[at / 2]);
  const int bits = at % 2 == 0 ? pair & 0x0F : pair >> 4;
  return static_cast<float>(stored == StoredWeights::i4 ? (bits ^ 8) - 8 : bits);
}

#if defined(__AVX512F__)

/// Columns of a strip: 4-bit numbers of a row of it fill a cache line.
inline constexpr std::int64_t strip_width = 128;
inline constexpr int strip_vectors = 8, strip_rows = 3, vector_width = 16;

/// The panel behind its first strip.
inline QuantizedPanel without_strip(QuantizedPanel p) {
  p.first += strip_width;
  p.out += strip_width;
  p.columns -= strip_width;
  return p;
}

/// Reads a row of a strip, less `offset` for 4-bit numbers: vector 2 i has the even columns of the i-th 32,
/// and vector 2 i + 1 the odd ones, as a byte holds one of each.
template<bool is_signed>
struct PackedNumbers {
  static constexpr bool packed = true;
  static constexpr float offset = is_signed ? 0 : 8;
  // Unsigned numbers are taken less 8, so that sums of them are no larger than those of signed ones.
  __m512 table = is_signed ? _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1)
                           : _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);

  void pair(const std::byte* row, int i, __m512& even, __m512& odd) const {
    const __m512i both =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i * vector_width)));
    even = _mm512_permutexvar_ps(both, table); // by the lowest four bits
    odd = _mm512_permutexvar_ps(_mm512_srli_epi32(both, 4), table);
  }
  static std::size_t bytes(std::int64_t numbers) { return static_cast<std::size_t>(numbers) / 2; }
};

/// The same of 8-bit numbers: vector v has columns from 16 v on.
template<bool is_signed>
struct ByteNumbers {
  static constexpr bool packed = false;
  static constexpr float offset = 0;

  static __m512 one(const std::byte* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
  }
  void pair(const std::byte* row, int i, __m512& first, __m512& second) const {
    const std::byte* const from = row + static_cast<std::ptrdiff_t>(2) * i * vector_width;
    first = one(from);
    second = one(from + vector_width);
  }
  static std::size_t bytes(std::int64_t numbers) { return static_cast<std::size_t>(numbers); }
};

/// Adds the sums of a block, times the scales, to `out`.
template<typename Numbers>
inline void add_block(const QuantizedPanel& p, std::int64_t block, const __m512* sums, float* out) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const float* const scale = p.scale + block * p.block_step + p.first * p.column_step;
  for (int i = 0; i < strip_vectors; i += 2) {
    const __m512 parts[2] = {Numbers::packed ? _mm512_permutex2var_ps(sums[i], low, sums[i + 1]) : sums[i],
                             Numbers::packed ? _mm512_permutex2var_ps(sums[i], high, sums[i + 1])
                                             : sums[i + 1]};
    for (int j = 0; j < 2; ++j) {
      const int at = (i + j) * vector_width;
      const __m512 factor = p.column_step ? _mm512_loadu_ps(scale + at) : _mm512_set1_ps(scale[0]);
      _mm512_storeu_ps(out + at, _mm512_fmadd_ps(parts[j], factor, _mm512_loadu_ps(out + at)));
    }
  }
}

/// Takes the zero points' part out of the sums: each times the sum of a row's values.
template<typename Numbers>
inline void take_zeros(const QuantizedPanel& p, std::int64_t block, const Numbers& numbers, float total,
                       __m512* sums) {
  const std::int64_t at = block * p.block_step + p.first * p.column_step;
  for (int i = 0; i < strip_vectors; i += 2) {
    __m512 even, odd;
    if (p.zero && p.column_step)
      numbers.pair(p.zero + Numbers::bytes(at), i / 2, even, odd);
    else
      even = odd = _mm512_set1_ps((p.zero ? number_at(p.zero, p.stored, at) : 0) - Numbers::offset);
    sums[i] = _mm512_fnmadd_ps(even, _mm512_set1_ps(total), sums[i]);
    sums[i + 1] = _mm512_fnmadd_ps(odd, _mm512_set1_ps(total), sums[i + 1]);
  }
}

template<typename Numbers, int rows>
inline void add_rows(const QuantizedPanel& p, const Numbers& numbers, std::int64_t first) {
  const float* const a = p.a + first * p.depth;
  for (std::int64_t begin = 0; begin < p.depth; begin += p.block) {
    const std::int64_t end = std::min(p.depth, begin + p.block), block = begin / p.block;
    __m512 sums[rows][strip_vectors];
    float totals[rows] = {};
    for (auto& row : sums)
      for (__m512& sum : row) sum = _mm512_setzero_ps();
    for (std::int64_t d = begin; d < end; ++d) {
      const std::byte* const weights = p.weights + Numbers::bytes(d * p.stride + p.first);
#pragma GCC unroll 4
      for (int i = 0; i < strip_vectors / 2; ++i) {
        __m512 even, odd;
        numbers.pair(weights, i, even, odd);
#pragma GCC unroll 3
        for (int r = 0; r < rows; ++r) {
          const __m512 x = _mm512_set1_ps(a[r * p.depth + d]);
          sums[r][2 * i] = _mm512_fmadd_ps(even, x, sums[r][2 * i]);
          sums[r][2 * i + 1] = _mm512_fmadd_ps(odd, x, sums[r][2 * i + 1]);
        }
      }
    }
    for (int r = 0; r < rows; ++r) {
      if (p.zero || Numbers::offset != 0) {
        for (std::int64_t d = begin; d < end; ++d) totals[r] += a[r * p.depth + d];
        take_zeros(p, block, numbers, totals[r], sums[r]);
      }
      add_block<Numbers>(p, block, sums[r], p.out + (first + r) * p.out_stride);
    }
  }
}

template<typename Numbers>
inline void add_all_rows(const QuantizedPanel& p, const Numbers& numbers) {
  std::int64_t row = 0;
  for (; row + strip_rows <= p.rows; row += strip_rows) add_rows<Numbers, strip_rows>(p, numbers, row);
  if (p.rows - row == 2) add_rows<Numbers, 2>(p, numbers, row);
  if (p.rows - row == 1) add_rows<Numbers, 1>(p, numbers, row);
}

/// The first strip_width columns of the panel.
inline void run_strip(const QuantizedPanel& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) std::fill_n(p.out + r * p.out_stride, strip_width, 0.0F);
  switch (p.stored) {
  case StoredWeights::i8:
    return add_all_rows(p, ByteNumbers<true>{});
  case StoredWeights::u8:
    return add_all_rows(p, ByteNumbers<false>{});
  case StoredWeights::i4:
    return add_all_rows(p, PackedNumbers<true>{});
  case StoredWeights::u4:
    return add_all_rows(p, PackedNumbers<false>{});
  }
}

#endif

} // namespace lanner::LANNER_SIMD
