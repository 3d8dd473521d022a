#include "image/row_kernels.h"

#include "device/cpu.h"

namespace lanner {

extern const RowKernels row_kernels_table_avx2;
extern const RowKernels row_kernels_table_avx512;

namespace {
#include "image/row_kernels_body.h"
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
