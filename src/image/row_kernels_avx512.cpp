#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"
} // namespace

// Whether the machine runs these is asked in row_kernels.cpp, which is compiled for every machine.
extern const RowKernels row_kernels_table_avx512;
const RowKernels row_kernels_table_avx512 = table_named("avx512");

} // namespace lanner
