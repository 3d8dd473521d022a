#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"
constexpr RowKernels table = table_named("avx2");
} // namespace

const RowKernels* row_kernels_avx2() noexcept {
  const bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return runs ? &table : nullptr;
}

} // namespace lanner
