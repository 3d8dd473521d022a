#pragma once
// arg_max and arg_min of f32, along any axis.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily arg_family;

} // namespace lanner
