#include <immintrin.h>

#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"

struct Wide {
  using Floats = __m256;
  using Bytes = __m256i;
  static constexpr int lanes = 8;
  static Floats all(float value) { return _mm256_set1_ps(value); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats read(const std::uint8_t* in) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(in))));
  }
  static Floats read(const std::uint16_t* in) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
  }
  static Bytes bytes(const std::uint8_t* in) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
  }
  static void write(Bytes in, std::uint8_t* out) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), in); }
  static Bytes codes(const Floats (&in)[4]) {
    const auto whole = [&](int q) { return _mm256_cvttps_epi32(in[q]); };
    // Packing works within 128-bit halves; the permutation restores the order of the four parts.
    const __m256i words = _mm256_packs_epi32(whole(0), whole(1)),
                  more = _mm256_packs_epi32(whole(2), whole(3));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, more), order);
  }
  // Byte j of 16 takes pixel 11 (j - part) mod 16, as 3 times 11 is 1 there: each part is permuted once, and
  // the three times 16 bytes of the result choose among the parts by j mod 3.
  static void interleave3(Bytes a, Bytes b, Bytes c, std::uint8_t* out) {
    const auto part = [](Bytes in, __m128i order) {
      return _mm256_shuffle_epi8(in, _mm256_broadcastsi128_si256(order));
    };
    const __m256i x = part(a, _mm_setr_epi8(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5)),
                  y = part(b, _mm_setr_epi8(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10)),
                  z = part(c, _mm_setr_epi8(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15));
    const __m256i second = _mm256_broadcastsi128_si256(
                      _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0)),
                  third = _mm256_broadcastsi128_si256(
                      _mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0));
    const auto choose = [&](__m256i at0, __m256i at1, __m256i at2) {
      return _mm256_blendv_epi8(_mm256_blendv_epi8(at0, at1, second), at2, third);
    };
    const __m256i p = choose(x, y, z), q = choose(y, z, x), r = choose(z, x, y);
    auto* to = reinterpret_cast<__m256i*>(out);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(p, q, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(r, p, 0x30));
    _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(q, r, 0x31));
  }
};
#include "image/row_kernels_wide.h"

// After the bodies it lists.
#include "image/row_kernels_table.h"
} // namespace

// Whether the machine supports these is checked in row_kernels.cpp, which is compiled for the baseline.
extern const RowKernels row_kernels_table_avx2;
const RowKernels row_kernels_table_avx2 = table_named("avx2");

} // namespace lanner
