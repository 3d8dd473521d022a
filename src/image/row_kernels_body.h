// Bodies of the row kernels, included by one file per instruction set inside its own anonymous namespace.
// They call no inline functions of other headers: the linker would keep one copy of each, compiled for an
// arbitrary instruction set.

/// Four bytes at any alignment.
using Loose = std::uint32_t __attribute__((may_alias, aligned(1)));

/// Adds rows from `t` on, four at a time, so that sums are loaded and stored less often.
template<typename Sample>
void accumulate_rows(int t, const Sample* const* rows, const float* weights, int taps, std::int64_t n,
                     float* __restrict out) {
  for (; t + 4 <= taps; t += 4) {
    const Sample *a = rows[t], *b = rows[t + 1], *c = rows[t + 2], *d = rows[t + 3];
    const float u = weights[t], v = weights[t + 1], w = weights[t + 2], x = weights[t + 3];
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      out[i] += u * static_cast<float>(a[i]) + v * static_cast<float>(b[i]) + w * static_cast<float>(c[i]) +
                x * static_cast<float>(d[i]);
  }
  for (; t < taps; ++t) {
    const Sample* row = rows[t];
    const float weight = weights[t];
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] += weight * static_cast<float>(row[i]);
  }
}

void blend_u8(const std::uint8_t* const* rows, const float* weights, int taps, std::int64_t n,
              float* __restrict out) {
  const std::uint8_t* a = rows[0];
  const float u = weights[0];
  if (taps == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] = u * static_cast<float>(a[i]);
    return;
  }
  const std::uint8_t* b = rows[1];
  const float v = weights[1];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = u * static_cast<float>(a[i]) + v * static_cast<float>(b[i]);
  accumulate_rows(2, rows, weights, taps, n, out);
}

void blend_u16(const std::uint16_t* const* rows, const float* weights, int taps, std::int64_t n,
               float* __restrict out) {
  const std::uint16_t* first = rows[0];
  const float u = weights[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = u * static_cast<float>(first[i]);
  accumulate_rows(1, rows, weights, taps, n, out);
}

void gather(const float* in, const std::int32_t* index, const float* weights, int taps, int step,
            std::int64_t n, float* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = weights[i] * in[index[i]];
  int t = 1;
  for (; t + 4 <= taps; t += 4) {
    const float *a = in + static_cast<std::int64_t>(t) * step, *b = a + step, *c = b + step, *d = c + step;
    const float *u = weights + t * n, *v = u + n, *w = v + n, *x = w + n;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t at = index[i];
      out[i] += u[i] * a[at] + v[i] * b[at] + w[i] * c[at] + x[i] * d[at];
    }
  }
  for (; t < taps; ++t) {
    const float* shifted = in + static_cast<std::int64_t>(t) * step;
    const float* weight = weights + t * n;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] += weight[i] * shifted[index[i]];
  }
}

void matrix(const RowMatrix& rule, std::int64_t n, float* __restrict a, float* __restrict b,
            float* __restrict c) {
  const RowMatrix r = rule;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = a[i], y = b[i], z = c[i];
    a[i] = r.m[0][0] * x + r.m[0][1] * y + r.m[0][2] * z + r.b[0];
    b[i] = r.m[1][0] * x + r.m[1][1] * y + r.m[1][2] * z + r.b[1];
    c[i] = r.m[2][0] * x + r.m[2][1] * y + r.m[2][2] * z + r.b[2];
  }
}

void clamp_affine(float low, float high, float scale, float offset, std::int64_t n, float* __restrict row) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    float x = row[i];
    x = x < low ? low : x;
    x = x > high ? high : x;
    row[i] = x * scale + offset;
  }
}

void accumulate(float weight, const float* in, std::int64_t n, float* __restrict acc) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) acc[i] += weight * in[i];
}

void store_u8(const float* in, float top, std::int64_t n, std::uint8_t* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    float x = in[i];
    x = x > 0.f ? x : 0.f;
    x = x > top ? top : x;
    out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(x + 0.5f));
  }
}

void store_u16(const float* in, float top, float unit, std::int64_t n, std::uint16_t* __restrict out) {
  const std::int32_t factor = static_cast<std::int32_t>(unit);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    float x = in[i];
    x = x > 0.f ? x : 0.f;
    x = x > top ? top : x;
    out[i] = static_cast<std::uint16_t>(static_cast<std::int32_t>(x + 0.5f) * factor);
  }
}

void interleave2_u8(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                    std::uint8_t* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    out[2 * i] = a[i];
    out[2 * i + 1] = b[i];
  }
}

void interleave3_f32(const float* a, const float* b, const float* c, std::int64_t n, float* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    out[3 * i] = a[i];
    out[3 * i + 1] = b[i];
    out[3 * i + 2] = c[i];
  }
}

void interleave4_u8(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::int64_t n,
                    std::uint8_t* out) {
  Loose* __restrict pixels = reinterpret_cast<Loose*>(out);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    pixels[i] = std::uint32_t{a[i]} | std::uint32_t{b[i]} << 8 | std::uint32_t{c[i]} << 16 | 0xff000000u;
}

void interleave2_u16(const std::uint16_t* a, const std::uint16_t* b, std::int64_t n,
                     std::uint16_t* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    out[2 * i] = a[i];
    out[2 * i + 1] = b[i];
  }
}

void split2_u8(const std::uint8_t* in, std::int64_t n, std::uint8_t* __restrict a,
               std::uint8_t* __restrict b) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    a[i] = in[2 * i];
    b[i] = in[2 * i + 1];
  }
}

void split2_u16(const std::uint16_t* in, std::int64_t n, std::uint16_t* __restrict a,
                std::uint16_t* __restrict b) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    a[i] = in[2 * i];
    b[i] = in[2 * i + 1];
  }
}

void split3_u8(const std::uint8_t* in, std::int64_t n, std::uint8_t* __restrict a, std::uint8_t* __restrict b,
               std::uint8_t* __restrict c) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    a[i] = in[3 * i];
    b[i] = in[3 * i + 1];
    c[i] = in[3 * i + 2];
  }
}

void split4_u8(const std::uint8_t* in, std::int64_t n, std::uint8_t* __restrict a, std::uint8_t* __restrict b,
               std::uint8_t* __restrict c) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    a[i] = in[4 * i];
    b[i] = in[4 * i + 1];
    c[i] = in[4 * i + 2];
  }
}

void shift_u16(const std::uint16_t* in, int left, int right, std::int64_t n, std::uint16_t* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<std::uint16_t>(static_cast<std::uint16_t>(in[i] << left) >> right);
}

void weigh_u8(const std::uint8_t* const* rows, const std::uint16_t* weights, int taps, std::int64_t n,
              std::uint16_t* __restrict out) {
  const std::uint8_t *a = rows[0], *b = rows[taps > 1 ? 1 : 0], *c = rows[taps > 2 ? 2 : 0];
  const std::uint16_t u = weights[0], v = taps > 1 ? weights[1] : std::uint16_t{0},
                      w = taps > 2 ? weights[2] : std::uint16_t{0};
  if (taps <= 2) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::uint16_t>(u * a[i] + v * b[i]);
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::uint16_t>(u * a[i] + v * b[i] + w * c[i]);
}

void weigh_u16(const std::uint16_t* const* rows, const std::uint16_t* weights, int taps, int shift,
               std::int64_t n, std::uint16_t* __restrict out) {
  const std::uint16_t *a = rows[0], *b = rows[taps > 1 ? 1 : 0], *c = rows[taps > 2 ? 2 : 0];
  const std::uint16_t u = weights[0], v = taps > 1 ? weights[1] : std::uint16_t{0},
                      w = taps > 2 ? weights[2] : std::uint16_t{0};
  if (taps <= 2) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = static_cast<std::uint16_t>(u * (a[i] >> shift) + v * (b[i] >> shift));
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<std::uint16_t>(u * (a[i] >> shift) + v * (b[i] >> shift) + w * (c[i] >> shift));
}

/// A separate function, so that the compiler does not see that the three rows are one and carry samples from
/// iteration to iteration: clang++ does not vectorise that.
[[gnu::noinline]] void widen_rows(const std::uint16_t* before, const std::uint16_t* here,
                                  const std::uint16_t* after, const std::uint16_t* weights, std::int64_t n,
                                  std::uint16_t* __restrict out) {
  const std::uint16_t a = weights[0], b = weights[1], c = weights[2], d = weights[3];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    out[2 * i] = static_cast<std::uint16_t>(a * before[i] + b * here[i]);
    out[2 * i + 1] = static_cast<std::uint16_t>(c * here[i] + d * after[i]);
  }
}

void widen_u16(const std::uint16_t* in, const std::uint16_t* even, const std::uint16_t* odd, std::int64_t n,
               std::uint16_t* out) {
  // A triangle between two samples never reaches all three.
  const std::uint16_t weights[4] = {even[0], even[1], odd[1], odd[2]};
  widen_rows(in - 1, in, in + 1, weights, n, out);
}

void halve_u16(const std::uint16_t* in, const std::uint16_t* weights, std::int64_t n,
               std::uint16_t* __restrict out) {
  const std::uint16_t a = weights[0], b = weights[1], c = weights[2];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<std::uint16_t>(a * in[2 * i - 1] + b * in[2 * i] + c * in[2 * i + 1]);
}

std::uint8_t code_of(float value) {
  value = value > 0.f ? value : 0.f;
  value = value < 255.f ? value : 255.f;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(value));
}

struct RgbCodes {
  std::uint8_t red, green, blue;
};

[[gnu::always_inline]] inline RgbCodes rgb_codes(const RowMatrix& r, float x, float y, float z) {
  return {code_of(r.m[0][2] * z + (r.m[0][0] * x + r.b[0])),
          code_of(r.m[1][2] * z + (r.m[1][1] * y + (r.m[1][0] * x + r.b[1]))),
          code_of(r.m[2][1] * y + (r.m[2][0] * x + r.b[2]))};
}

template<typename Luma>
void ycc_to_rgb8_from(std::int64_t first, const Luma* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                      const RowMatrix& matrix, std::int64_t n, std::uint8_t* const* out) {
  const RowMatrix r = matrix;
  std::uint8_t *red = out[0], *green = out[1], *blue = out[2];
  for (std::int64_t i = first; i < n; ++i) {
    const RgbCodes codes = rgb_codes(r, luma[i], cb[i], cr[i]);
    red[i] = codes.red;
    green[i] = codes.green;
    blue[i] = codes.blue;
  }
}

template<typename Luma>
void ycc_to_rgb24_all(const Luma* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                      const RowMatrix& matrix, bool blue_first, std::int64_t n, std::uint8_t* out) {
  const RowMatrix r = matrix;
  const int red = blue_first ? 2 : 0;
  for (std::int64_t i = 0; i < n; ++i, out += 3) {
    const RgbCodes codes = rgb_codes(r, luma[i], cb[i], cr[i]);
    out[red] = codes.red;
    out[1] = codes.green;
    out[2 - red] = codes.blue;
  }
}

template<typename Sample>
void mix_from(std::int64_t first, const Sample* const* in, const float* weights, float bias, std::int64_t n,
              std::uint8_t* __restrict out) {
  const Sample *a = in[0], *b = in[1], *c = in[2];
  const float u = weights[0], v = weights[1], w = weights[2];
  for (std::int64_t i = first; i < n; ++i)
    out[i] = code_of(w * static_cast<float>(c[i]) +
                     (v * static_cast<float>(b[i]) + (u * static_cast<float>(a[i]) + bias)));
}

void interleave3_u8_from(std::int64_t first, const std::uint8_t* a, const std::uint8_t* b,
                         const std::uint8_t* c, std::int64_t n, std::uint8_t* __restrict out) {
  for (std::int64_t i = first; i < n; ++i) {
    out[3 * i] = a[i];
    out[3 * i + 1] = b[i];
    out[3 * i + 2] = c[i];
  }
}
