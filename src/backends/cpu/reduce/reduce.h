#pragma once
// reduce_sum, reduce_mean and global_average_pool of f32, where what is kept lies around what is reduced: in
// row-major order and, for pools, channels last or in blocks.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily reduce_family;

} // namespace lanner
