#include "image/row_kernels.h"

#include "device/cpu.h"

namespace lanner {

extern const RowKernels row_kernels_table_avx2;
extern const RowKernels row_kernels_table_avx512;

namespace {
#include "image/row_kernels_body.h"

template<typename Luma>
void ycc_to_rgb8(const Luma* luma, const std::uint16_t* cb, const std::uint16_t* cr, const RowMatrix& matrix,
                 std::int64_t n, std::uint8_t* const* out) {
  ycc_to_rgb8_from(0, luma, cb, cr, matrix, n, out);
}
template<typename Luma>
void ycc_to_rgb24(const Luma* luma, const std::uint16_t* cb, const std::uint16_t* cr, const RowMatrix& matrix,
                  bool blue_first, std::int64_t n, std::uint8_t* out) {
  ycc_to_rgb24_all(luma, cb, cr, matrix, blue_first, n, out);
}
template<typename Sample>
void mix(const Sample* const* in, const float* weights, float bias, std::int64_t n, std::uint8_t* out) {
  mix_from(0, in, weights, bias, n, out);
}
void interleave3_u8(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::int64_t n,
                    std::uint8_t* out) {
  interleave3_u8_from(0, a, b, c, n, out);
}
#include "image/row_kernels_table.h"

constexpr RowKernels table = table_named("baseline");
} // namespace

const RowKernels* row_kernels_baseline() noexcept {
  return &table;
}
const RowKernels* row_kernels_avx2() noexcept {
  return cpu_features().has_avx2() ? &row_kernels_table_avx2 : nullptr;
}
const RowKernels* row_kernels_avx512() noexcept {
  return cpu_features().has_avx512() ? &row_kernels_table_avx512 : nullptr;
}

const RowKernels& row_kernels() noexcept {
  static const RowKernels& chosen = []() -> const RowKernels& {
    if (const RowKernels* kernels = row_kernels_avx512()) return *kernels;
    if (const RowKernels* kernels = row_kernels_avx2()) return *kernels;
    return table;
  }();
  return chosen;
}

} // namespace lanner
