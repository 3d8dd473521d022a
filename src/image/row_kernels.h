#pragma once
// The loops over one row that all image work is made of, in one version per instruction set.

#include <cstdint>

namespace lanner {

/// Affine colour step on three rows of normal or sample values: out[i] = m[i] . in + b[i].
struct RowMatrix {
  float m[3][3];
  float b[3];
};

/// Functions over rows of `n` elements. None allocates; rows do not overlap unless said.
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
  /// Rounded to nearest, halves up, kept in 0..top.
  void (*store_u8)(const float* in, float top, std::int64_t n, std::uint8_t* out);
  void (*store_u16)(const float* in, float top, float unit, std::int64_t n, std::uint16_t* out);
  /// out[2 i] = a[i], out[2 i + 1] = b[i].
  void (*interleave2_u8)(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n, std::uint8_t* out);
  void (*interleave3_u8)(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::int64_t n,
                         std::uint8_t* out);
  void (*interleave3_f32)(const float* a, const float* b, const float* c, std::int64_t n, float* out);
};

/// The fastest version that this machine runs.
const RowKernels& row_kernels() noexcept;

/// Versions by instruction set; `nullptr` where the machine cannot run it. For tests.
const RowKernels* row_kernels_baseline() noexcept;
const RowKernels* row_kernels_avx2() noexcept;
const RowKernels* row_kernels_avx512() noexcept;

} // namespace lanner
