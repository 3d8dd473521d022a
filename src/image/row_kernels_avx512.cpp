#include <immintrin.h>

#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"

struct Wide {
  using Floats = __m512;
  using Bytes = __m512i;
  static constexpr int lanes = 16;
  static Floats all(float value) { return _mm512_set1_ps(value); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats read(const std::uint8_t* in) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
  }
  static Floats read(const std::uint16_t* in) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))));
  }
  static Bytes bytes(const std::uint8_t* in) { return _mm512_loadu_si512(in); }
  static void write(Bytes in, std::uint8_t* out) { _mm512_storeu_si512(out, in); }
  static Bytes codes(const Floats (&in)[4]) {
    const auto whole = [&](int q) { return _mm512_cvttps_epi32(in[q]); };
    // Packing works within 128-bit lanes; the permutation restores the order of the four parts.
    const __m512i words = _mm512_packs_epi32(whole(0), whole(1)),
                  more = _mm512_packs_epi32(whole(2), whole(3));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, _mm512_packus_epi16(words, more));
  }
  // Byte j of 16 takes pixel 11 (j - part) mod 16, as 3 times 11 is 1 there: each part is permuted once, and
  // the three times 16 bytes of the result choose among the parts by j mod 3.
  static void interleave3(Bytes a, Bytes b, Bytes c, std::uint8_t* out) {
    const auto part = [](Bytes in, __m128i order) {
      return _mm512_shuffle_epi8(in, _mm512_broadcast_i32x4(order));
    };
    const __m512i x = part(a, _mm_setr_epi8(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5)),
                  y = part(b, _mm_setr_epi8(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10)),
                  z = part(c, _mm_setr_epi8(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15));
    constexpr __mmask64 second = 0x2492249224922492, third = 0x4924492449244924;
    const auto choose = [](__m512i at0, __m512i at1, __m512i at2) {
      return _mm512_mask_blend_epi8(third, _mm512_mask_blend_epi8(second, at0, at1), at2);
    };
    const __m512i p = choose(x, y, z), q = choose(y, z, x), r = choose(z, x, y);
    // The result is p0 q0 r0 p1, q1 r1 p2 q2, r2 p3 q3 r3, in units of 16 bytes.
    const auto place = [](__m512i in, __m512i from, __mmask8 where, __m512i more) {
      return _mm512_mask_permutexvar_epi64(in, where, from, more);
    };
    const auto pair = [](__m512i first, __m512i next, __m512i from) {
      return _mm512_permutex2var_epi64(first, from, next);
    };
    const __m512i head = pair(p, q, _mm512_setr_epi64(0, 1, 8, 9, 0, 0, 2, 3)),
                  middle = pair(q, r, _mm512_setr_epi64(2, 3, 10, 11, 0, 0, 4, 5)),
                  tail = pair(r, p, _mm512_setr_epi64(4, 5, 14, 15, 0, 0, 6, 7));
    _mm512_storeu_si512(out, place(head, _mm512_setr_epi64(0, 0, 0, 0, 0, 1, 0, 0), 0x30, r));
    _mm512_storeu_si512(out + 64, place(middle, _mm512_setr_epi64(0, 0, 0, 0, 4, 5, 0, 0), 0x30, p));
    _mm512_storeu_si512(out + 128, place(tail, _mm512_setr_epi64(0, 0, 0, 0, 6, 7, 0, 0), 0x30, q));
  }
};
#include "image/row_kernels_wide.h"

// After the bodies it lists.
#include "image/row_kernels_table.h"
} // namespace

// Whether the machine supports these is checked in row_kernels.cpp, which is compiled for the baseline.
extern const RowKernels row_kernels_table_avx512;
const RowKernels row_kernels_table_avx512 = table_named("avx512");

} // namespace lanner
