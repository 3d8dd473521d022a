#include <immintrin.h>

#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"

struct Wide {
  using Floats = __m256;
  static constexpr int lanes = 8;
  static Floats all(float value) { return _mm256_set1_ps(value); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats read(const std::uint8_t* in) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(in))));
  }
  static Floats read(const std::uint16_t* in) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
  }
  static void write(const Floats (&in)[4], std::uint8_t* out) {
    const auto whole = [&](int q) { return _mm256_cvttps_epi32(in[q]); };
    // Packing keeps to its 128 bits; the permutation brings the four parts of each into order.
    const __m256i words = _mm256_packs_epi32(whole(0), whole(1)),
                  more = _mm256_packs_epi32(whole(2), whole(3));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, more), order));
  }
};
#include "image/row_kernels_wide.h"

// Behind its bodies.
#include "image/row_kernels_table.h"
} // namespace

// Whether the machine runs these is asked in row_kernels.cpp, which is compiled for every machine.
extern const RowKernels row_kernels_table_avx2;
const RowKernels row_kernels_table_avx2 = table_named("avx2");

} // namespace lanner
