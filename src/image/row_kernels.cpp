#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"
constexpr RowKernels table = table_named("baseline");
} // namespace

const RowKernels* row_kernels_baseline() noexcept {
  return &table;
}

const RowKernels& row_kernels() noexcept {
  static const RowKernels& chosen = [&]() -> const RowKernels& {
    if (const RowKernels* kernels = row_kernels_avx512()) return *kernels;
    if (const RowKernels* kernels = row_kernels_avx2()) return *kernels;
    return table;
  }();
  return chosen;
}

} // namespace lanner
