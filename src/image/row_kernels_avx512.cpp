#include <immintrin.h>

#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"

struct Wide {
  using Floats = __m512;
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
  static void write(const Floats (&in)[4], std::uint8_t* out) {
    const auto whole = [&](int q) { return _mm512_cvttps_epi32(in[q]); };
    // Packing keeps to its 128 bits; the permutation brings the four parts of each into order.
    const __m512i words = _mm512_packs_epi32(whole(0), whole(1)),
                  more = _mm512_packs_epi32(whole(2), whole(3));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(out, _mm512_permutexvar_epi32(order, _mm512_packus_epi16(words, more)));
  }
};
#include "image/row_kernels_wide.h"

// Behind its bodies.
#include "image/row_kernels_table.h"
} // namespace

// Whether the machine runs these is asked in row_kernels.cpp, which is compiled for every machine.
extern const RowKernels row_kernels_table_avx512;
const RowKernels row_kernels_table_avx512 = table_named("avx512");

} // namespace lanner
