#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"
constexpr RowKernels table = table_named("avx512");
} // namespace

const RowKernels* row_kernels_avx512() noexcept {
  const bool runs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return runs ? &table : nullptr;
}

} // namespace lanner
