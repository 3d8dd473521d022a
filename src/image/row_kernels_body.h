// Bodies of the row kernels, included by one file per instruction set inside its own anonymous namespace.
// They call no inline function of another header: the linker would keep one copy of it, compiled for
// whichever instruction set.

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
  for (int t = 2; t < taps; ++t) {
    const std::uint8_t* row = rows[t];
    const float weight = weights[t];
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] += weight * static_cast<float>(row[i]);
  }
}

void blend_u16(const std::uint16_t* const* rows, const float* weights, int taps, std::int64_t n,
               float* __restrict out) {
  const std::uint16_t* first = rows[0];
  const float u = weights[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = u * static_cast<float>(first[i]);
  for (int t = 1; t < taps; ++t) {
    const std::uint16_t* row = rows[t];
    const float weight = weights[t];
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] += weight * static_cast<float>(row[i]);
  }
}

void gather(const float* in, const std::int32_t* index, const float* weights, int taps, int step,
            std::int64_t n, float* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = weights[i] * in[index[i]];
  for (int t = 1; t < taps; ++t) {
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

void interleave3_u8(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::int64_t n,
                    std::uint8_t* __restrict out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    out[3 * i] = a[i];
    out[3 * i + 1] = b[i];
    out[3 * i + 2] = c[i];
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

constexpr RowKernels table_named(const char* name) {
  return {name,       blend_u8, blend_u16, gather,         matrix,         clamp_affine,
          accumulate, store_u8, store_u16, interleave2_u8, interleave3_u8, interleave3_f32};
}
