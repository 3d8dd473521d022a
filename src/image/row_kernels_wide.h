// Bodies of the row kernels that GCC does not vectorise well, over a Wide of the instruction set: `lanes`
// floats, read from samples, four of them packed to bytes, and bytes put together. Included after
// row_kernels_body.h.

constexpr std::int64_t wide_block = 4 * Wide::lanes;

struct WideRgb {
  Wide::Bytes red, green, blue;
};

template<typename Luma>
[[gnu::always_inline]] inline WideRgb ycc_block(const Luma* luma, const std::uint16_t* cb,
                                                const std::uint16_t* cr, const RowMatrix& matrix) {
  Wide::Floats r[4], g[4], b[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    const int at = q * Wide::lanes;
    const Wide::Floats x = Wide::read(luma + at), y = Wide::read(cb + at), z = Wide::read(cr + at),
                       scale = Wide::all(matrix.m[0][0]);
    r[q] = Wide::multiply_add(Wide::all(matrix.m[0][2]), z,
                              Wide::multiply_add(scale, x, Wide::all(matrix.b[0])));
    g[q] = Wide::multiply_add(Wide::all(matrix.m[1][2]), z,
                              Wide::multiply_add(Wide::all(matrix.m[1][1]), y,
                                                 Wide::multiply_add(scale, x, Wide::all(matrix.b[1]))));
    b[q] = Wide::multiply_add(Wide::all(matrix.m[2][1]), y,
                              Wide::multiply_add(scale, x, Wide::all(matrix.b[2])));
  }
  return {Wide::codes(r), Wide::codes(g), Wide::codes(b)};
}

template<typename Luma>
void ycc_to_rgb8(const Luma* luma, const std::uint16_t* cb, const std::uint16_t* cr, const RowMatrix& rule,
                 std::int64_t n, std::uint8_t* const* out) {
  const RowMatrix matrix = rule;
  std::uint8_t *red = out[0], *green = out[1], *blue = out[2];
  const auto block = [&](std::int64_t at) __attribute__((always_inline)) {
    const WideRgb rgb = ycc_block(luma + at, cb + at, cr + at, matrix);
    Wide::write(rgb.red, red + at);
    Wide::write(rgb.green, green + at);
    Wide::write(rgb.blue, blue + at);
  };
  std::int64_t i = 0;
  for (; i + wide_block <= n; i += wide_block) block(i);
  if (i == n) return;
  if (n < wide_block) return ycc_to_rgb8_from(0, luma, cb, cr, rule, n, out);
  block(n - wide_block); // The last block overlaps the one before it.
}

template<bool blue_first, typename Luma>
void ycc_to_rgb24(const Luma* luma, const std::uint16_t* cb, const std::uint16_t* cr, const RowMatrix& rule,
                  std::int64_t n, std::uint8_t* out) {
  const RowMatrix matrix = rule;
  const auto block = [&](std::int64_t at) __attribute__((always_inline)) {
    const WideRgb rgb = ycc_block(luma + at, cb + at, cr + at, matrix);
    if constexpr (blue_first)
      Wide::interleave3(rgb.blue, rgb.green, rgb.red, out + 3 * at);
    else
      Wide::interleave3(rgb.red, rgb.green, rgb.blue, out + 3 * at);
  };
  std::int64_t i = 0;
  for (; i + wide_block <= n; i += wide_block) block(i);
  if (i == n) return;
  if (n < wide_block) return ycc_to_rgb24_all(luma, cb, cr, rule, blue_first, n, out);
  block(n - wide_block);
}

template<typename Luma>
void ycc_to_rgb24(const Luma* luma, const std::uint16_t* cb, const std::uint16_t* cr, const RowMatrix& matrix,
                  bool blue_first, std::int64_t n, std::uint8_t* out) {
  if (blue_first)
    ycc_to_rgb24<true>(luma, cb, cr, matrix, n, out);
  else
    ycc_to_rgb24<false>(luma, cb, cr, matrix, n, out);
}

template<typename Sample>
[[gnu::always_inline]] inline void mix_block(const Sample* a, const Sample* b, const Sample* c,
                                             const float* weights, float bias, std::uint8_t* out) {
  Wide::Floats sum[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    const int at = q * Wide::lanes;
    sum[q] = Wide::multiply_add(Wide::all(weights[0]), Wide::read(a + at), Wide::all(bias));
    sum[q] = Wide::multiply_add(Wide::all(weights[1]), Wide::read(b + at), sum[q]);
    sum[q] = Wide::multiply_add(Wide::all(weights[2]), Wide::read(c + at), sum[q]);
  }
  Wide::write(Wide::codes(sum), out);
}

template<typename Sample>
void mix(const Sample* const* in, const float* weights, float bias, std::int64_t n, std::uint8_t* out) {
  const float factors[3] = {weights[0], weights[1], weights[2]};
  const Sample *a = in[0], *b = in[1], *c = in[2];
  std::int64_t i = 0;
  for (; i + wide_block <= n; i += wide_block) mix_block(a + i, b + i, c + i, factors, bias, out + i);
  if (i == n) return;
  if (n < wide_block) return mix_from(0, in, weights, bias, n, out);
  i = n - wide_block;
  mix_block(a + i, b + i, c + i, factors, bias, out + i);
}

void interleave3_u8(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::int64_t n,
                    std::uint8_t* out) {
  std::int64_t i = 0;
  for (; i + wide_block <= n; i += wide_block)
    Wide::interleave3(Wide::bytes(a + i), Wide::bytes(b + i), Wide::bytes(c + i), out + 3 * i);
  interleave3_u8_from(i, a, b, c, n, out);
}
