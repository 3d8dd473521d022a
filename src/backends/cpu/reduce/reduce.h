#pragma once
// reduce_sum, reduce_mean, reduce_l1, reduce_l2, reduce_sum_square, reduce_max, reduce_min and the average
// and maximum of pictures, of f32, where what is kept lies around what is reduced: in row-major order and,
// for pools, channels last or in blocks.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily reduce_family;

} // namespace lanner
