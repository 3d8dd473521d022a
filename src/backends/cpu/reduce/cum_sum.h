#pragma once
// cum_sum of f32, i32 and i64, along an axis that is known.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily cum_sum_family;

} // namespace lanner
