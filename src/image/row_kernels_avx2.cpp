#include "image/row_kernels.h"

namespace lanner {

namespace {
#include "image/row_kernels_body.h"
} // namespace

// Whether the machine runs these is asked in row_kernels.cpp, which is compiled for every machine.
extern const RowKernels row_kernels_table_avx2;
const RowKernels row_kernels_table_avx2 = table_named("avx2");

} // namespace lanner
