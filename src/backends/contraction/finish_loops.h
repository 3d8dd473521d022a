#pragma once
// Results out of sums, over the vectors of block_vectors.h.

#include <algorithm>

#include "backends/contraction/block.h"
#include "backends/contraction/block_vectors.h"
#include "backends/cpu/bf16_vectors.h"

namespace lanner::LANNER_SIMD {

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
#if LANNER_SIMD_BYTES == 32
  explicit ByteStore(const BlockFinish& f)
      : zero_(_mm256_set1_epi16(static_cast<short>(f.zero))),
        least_(_mm_set1_epi8(static_cast<char>(f.least))), most_(_mm_set1_epi8(static_cast<char>(f.most))) {}
#else
  explicit ByteStore(const BlockFinish& f) : zero_(f.zero), least_(f.least), most_(f.most) {}
#endif

  /// Up to block_width of them.
  void operator()(std::byte* to, I low, I high, std::int64_t count) const {
    if (count >= block_width) return store_all(to, low, high);
    std::byte all[block_width];
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
void finish_f32(const Sum* sums, const BlockFinish& finish) {
  const BlockFinish f = finish;
  for (std::int64_t row = 0; row < f.rows; ++row) {
    const Sum* from = sums + row * f.sums_stride;
    auto* const out = reinterpret_cast<float*>(f.out + row * f.out_stride);
    each_vector(f.columns, [&](std::int64_t i, std::int64_t count) {
      const F y = multiply_add(sums_of(from + i), load(f.multiplier + i), load(f.bias + i));
      store_up_to(out + i, at_most(at_least(y, f.low), f.high), count);
    });
  }
}

/// Rounded to the nearest bf16 in one instruction, which processors with tiles of bf16 have: in assembly, as
/// intrinsics would need all of this compiled another time for them. Takes subnormal numbers as 0, as the
/// tiles' products do.
inline void store_both_rounded(Bf16* to, F low, F high) {
#if LANNER_SIMD_BYTES == 64
  __m512i rounded;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(rounded) : "v"(low), "v"(high));
  _mm512_storeu_si512(to, rounded);
#else
  store_rounded(to, low);
  store_rounded(to + lanes, high);
#endif
}

template<bool adds>
void finish_bf16_of(const float* sums, const BlockFinish& finish) {
  const BlockFinish f = finish;
  for (std::int64_t row = 0; row < f.rows; ++row) {
    const float* from = sums + row * f.sums_stride;
    const auto* added = reinterpret_cast<const Bf16*>(f.added + row * f.added_stride);
    auto* const out = reinterpret_cast<Bf16*>(f.out + row * f.out_stride);
    for (std::int64_t i = 0; i < f.columns; i += 2 * lanes) {
      const std::int64_t bytes = std::min(2 * lanes, f.columns - i) * static_cast<std::int64_t>(sizeof(Bf16));
      const bool all = f.columns - i >= 2 * lanes;
      Bf16 some[2 * lanes] = {};
      F low = load(from + i), high = load(from + i + lanes);
      if constexpr (adds) {
        if (!all) std::memcpy(some, added + i, static_cast<std::size_t>(bytes));
        low += floats_of(all ? added + i : some);
        high += floats_of((all ? added + i : some) + lanes);
      }
      store_both_rounded(all ? out + i : some, at_most(at_least(low, f.low), f.high),
                         at_most(at_least(high, f.low), f.high));
      if (!all) std::memcpy(out + i, some, static_cast<std::size_t>(bytes));
    }
  }
}

inline void finish_bf16(const float* sums, const BlockFinish& finish) {
  finish.added ? finish_bf16_of<true>(sums, finish) : finish_bf16_of<false>(sums, finish);
}

/// None, bytes of i8, bytes of u8.
enum class Added : std::uint8_t { none, i8, u8 };

template<Added kind>
F added_to(F y, const std::byte* from, F scale) {
  if constexpr (kind == Added::none) return y;
  return multiply_add(floats_of<kind == Added::i8>(from), scale, y);
}

/// A number before the addition: rounded on the way or as it is.
template<bool rounds>
F rounded_by(const InnerRounding& inner, F x) {
  if constexpr (!rounds) return x;
  return multiply_add(at_most(at_least(nearest(x), inner.low), inner.high), splat(inner.scale),
                      splat(inner.shift));
}

/// block_width columns of all rows, of which `count` are results.
template<typename Sum, Added kind, bool rounds, bool is_signed>
void finish_columns(const Sum* sums, const BlockFinish& finish, std::int64_t column, std::int64_t count) {
  const BlockFinish f = finish;
  const InnerRounding inner = rounds ? *f.inner : InnerRounding{};
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
    std::byte last[block_width] = {};
    if (kind != Added::none && count < block_width) {
      std::memcpy(last, added, static_cast<std::size_t>(count));
      operand = last;
    }
    const F first = rounded_by<rounds>(inner, multiply_add(sums_of(sums), first_multiplier, first_bias));
    const F second =
        rounded_by<rounds>(inner, multiply_add(sums_of(sums + lanes), second_multiplier, second_bias));
    store_bytes(out, nearest_ints(added_to<kind>(first, operand, scale)),
                nearest_ints(added_to<kind>(second, operand + lanes, scale)), count);
    sums += f.sums_stride;
    added += f.added_stride;
    out += f.out_stride;
  }
}

template<typename Sum, Added kind, bool rounds>
void finish_bytes_of(const Sum* sums, const BlockFinish& f) {
  for (std::int64_t column = 0; column < f.columns; column += block_width)
    f.is_signed ? finish_columns<Sum, kind, rounds, true>(sums, f, column, f.columns - column)
                : finish_columns<Sum, kind, rounds, false>(sums, f, column, f.columns - column);
}

template<typename Sum, bool rounds>
void finish_bytes_by(const Sum* sums, const BlockFinish& finish) {
  if (!finish.added) return finish_bytes_of<Sum, Added::none, rounds>(sums, finish);
  finish.added_signed ? finish_bytes_of<Sum, Added::i8, rounds>(sums, finish)
                      : finish_bytes_of<Sum, Added::u8, rounds>(sums, finish);
}

template<typename Sum>
void finish_bytes(const Sum* sums, const BlockFinish& finish) {
  finish.inner ? finish_bytes_by<Sum, true>(sums, finish) : finish_bytes_by<Sum, false>(sums, finish);
}

template<bool is_signed>
void quantise_as(const float* from, float scale, const BlockFinish& finish) {
  const BlockFinish f = finish;
  const ByteStore<is_signed> store_bytes(f);
  const F low = splat(static_cast<float>(f.least - f.zero)), divisor = splat(scale);
  const float high = static_cast<float>(f.most - f.zero);
  const auto rounded = [&](F x) {
    const F y = nearest(x / divisor);
    return nearest_ints(at_most(y > low ? y : low, high)); // NaN compares false.
  };
  for (std::int64_t row = 0; row < f.rows; ++row, from += f.sums_stride)
    for (std::int64_t i = 0; i < f.columns; i += block_width)
      store_bytes(f.out + row * f.out_stride + i, rounded(load(from + i)), rounded(load(from + i + lanes)),
                  f.columns - i);
}

inline void quantise(const float* from, float scale, const BlockFinish& finish) {
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

} // namespace lanner::LANNER_SIMD
