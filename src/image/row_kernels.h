#pragma once
// The row loops of all image processing, in one version per instruction set.

#include <cstdint>

namespace lanner {

/// Affine colour transform of three rows of normal or sample values: out[i] = m[i] . in + b[i].
struct RowMatrix {
  float m[3][3];
  float b[3];
};

/// Functions over rows of `n` elements. None allocates; rows do not overlap unless stated.
struct RowKernels {
  const char* name;
  /// out[i] = sum over t < taps of weights[t] * rows[t][i].
  void (*blend_u8)(const std::uint8_t* const* rows, const float* weights, int taps, std::int64_t n,
                   float* out);
  void (*blend_u16)(const std::uint16_t* const* rows, const float* weights, int taps, std::int64_t n,
                    float* out);
  /// out[i] = sum over t < taps of weights[t * n + i] * in[index[i] + t * step].
  void (*gather)(const float* in, const std::int32_t* index, const float* weights, int taps, int step,
                 std::int64_t n, float* out);
  /// In place on three rows.
  void (*matrix)(const RowMatrix& matrix, std::int64_t n, float* a, float* b, float* c);
  /// x = min(max(x, low), high) * scale + offset, in place.
  void (*clamp_affine)(float low, float high, float scale, float offset, std::int64_t n, float* row);
  /// acc[i] += weight * in[i].
  void (*accumulate)(float weight, const float* in, std::int64_t n, float* acc);
  /// Rounded to nearest, halves up, clamped to 0..top.
  void (*store_u8)(const float* in, float top, std::int64_t n, std::uint8_t* out);
  void (*store_u16)(const float* in, float top, float unit, std::int64_t n, std::uint16_t* out);
  /// out[2 i] = a[i], out[2 i + 1] = b[i].
  void (*interleave2_u8)(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n, std::uint8_t* out);
  void (*interleave3_u8)(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::int64_t n,
                         std::uint8_t* out);
  void (*interleave3_f32)(const float* a, const float* b, const float* c, std::int64_t n, float* out);
  /// Every fourth sample is 255.
  void (*interleave4_u8)(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::int64_t n,
                         std::uint8_t* out);
  void (*interleave2_u16)(const std::uint16_t* a, const std::uint16_t* b, std::int64_t n, std::uint16_t* out);
  /// The reverse; a fourth sample is dropped.
  void (*split2_u8)(const std::uint8_t* in, std::int64_t n, std::uint8_t* a, std::uint8_t* b);
  void (*split2_u16)(const std::uint16_t* in, std::int64_t n, std::uint16_t* a, std::uint16_t* b);
  void (*split3_u8)(const std::uint8_t* in, std::int64_t n, std::uint8_t* a, std::uint8_t* b,
                    std::uint8_t* c);
  void (*split4_u8)(const std::uint8_t* in, std::int64_t n, std::uint8_t* a, std::uint8_t* b,
                    std::uint8_t* c);
  /// out[i] = in[i] << left >> right.
  void (*shift_u16)(const std::uint16_t* in, int left, int right, std::int64_t n, std::uint16_t* out);
  /// out[i] = sum over t < taps of weights[t] * (rows[t][i] >> shift), which must fit; 1 to 3 taps.
  void (*weigh_u8)(const std::uint8_t* const* rows, const std::uint16_t* weights, int taps, std::int64_t n,
                   std::uint16_t* out);
  void (*weigh_u16)(const std::uint16_t* const* rows, const std::uint16_t* weights, int taps, int shift,
                    std::int64_t n, std::uint16_t* out);
  /// out[2 i] and out[2 i + 1] = sums of in[i - 1], in[i], in[i + 1] by weights of `even` and `odd`; in[-1]
  /// and in[n] are read.
  void (*widen_u16)(const std::uint16_t* in, const std::uint16_t* even, const std::uint16_t* odd,
                    std::int64_t n, std::uint16_t* out);
  /// out[i] = sum of in[2 i - 1], in[2 i], in[2 i + 1] by `weights`; in[-1] and in[2 n - 1] are read.
  void (*halve_u16)(const std::uint16_t* in, const std::uint16_t* weights, std::int64_t n,
                    std::uint16_t* out);
  /// Y', Cb, Cr to R, G, B: out = m . in + b truncated and clamped to 0..255. m[0][1] and m[2][2] are 0, the
  /// first column holds one number. Luma is u8 or u16, chroma u16.
  void (*ycc_to_rgb8_u8)(const std::uint8_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                         const RowMatrix& matrix, std::int64_t n, std::uint8_t* const* out);
  void (*ycc_to_rgb8_u16)(const std::uint16_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                          const RowMatrix& matrix, std::int64_t n, std::uint8_t* const* out);
  /// The same bytes, pixel by pixel: R, G, B, or B, G, R where blue is first.
  void (*ycc_to_rgb24_u8)(const std::uint8_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                          const RowMatrix& matrix, bool blue_first, std::int64_t n, std::uint8_t* out);
  void (*ycc_to_rgb24_u16)(const std::uint16_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                           const RowMatrix& matrix, bool blue_first, std::int64_t n, std::uint8_t* out);
  /// out = weights . in + bias truncated and clamped to 0..255.
  void (*mix_u8)(const std::uint8_t* const* in, const float* weights, float bias, std::int64_t n,
                 std::uint8_t* out);
  void (*mix_u16)(const std::uint16_t* const* in, const float* weights, float bias, std::int64_t n,
                  std::uint8_t* out);
};

/// The fastest version that this machine runs.
const RowKernels& row_kernels() noexcept;

/// Versions by instruction set; `nullptr` where the machine does not support it. For tests.
const RowKernels* row_kernels_baseline() noexcept;
const RowKernels* row_kernels_avx2() noexcept;
const RowKernels* row_kernels_avx512() noexcept;

} // namespace lanner
