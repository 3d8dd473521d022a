// The table of one instruction set, included after its bodies.

void ycc_to_rgb8_u8(const std::uint8_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                    const RowMatrix& matrix, std::int64_t n, std::uint8_t* const* out) {
  ycc_to_rgb8(luma, cb, cr, matrix, n, out);
}
void ycc_to_rgb8_u16(const std::uint16_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                     const RowMatrix& matrix, std::int64_t n, std::uint8_t* const* out) {
  ycc_to_rgb8(luma, cb, cr, matrix, n, out);
}
void ycc_to_rgb24_u8(const std::uint8_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                     const RowMatrix& matrix, bool blue_first, std::int64_t n, std::uint8_t* out) {
  ycc_to_rgb24(luma, cb, cr, matrix, blue_first, n, out);
}
void ycc_to_rgb24_u16(const std::uint16_t* luma, const std::uint16_t* cb, const std::uint16_t* cr,
                      const RowMatrix& matrix, bool blue_first, std::int64_t n, std::uint8_t* out) {
  ycc_to_rgb24(luma, cb, cr, matrix, blue_first, n, out);
}
void mix_u8(const std::uint8_t* const* in, const float* weights, float bias, std::int64_t n,
            std::uint8_t* out) {
  mix(in, weights, bias, n, out);
}
void mix_u16(const std::uint16_t* const* in, const float* weights, float bias, std::int64_t n,
             std::uint8_t* out) {
  mix(in, weights, bias, n, out);
}

constexpr RowKernels table_named(const char* name) {
  return {name,
          blend_u8,
          blend_u16,
          gather,
          matrix,
          clamp_affine,
          accumulate,
          store_u8,
          store_u16,
          interleave2_u8,
          interleave3_u8,
          interleave3_f32,
          interleave4_u8,
          interleave2_u16,
          split2_u8,
          split2_u16,
          split3_u8,
          split4_u8,
          shift_u16,
          weigh_u8,
          weigh_u16,
          widen_u16,
          halve_u16,
          ycc_to_rgb8_u8,
          ycc_to_rgb8_u16,
          ycc_to_rgb24_u8,
          ycc_to_rgb24_u16,
          mix_u8,
          mix_u16};
}
