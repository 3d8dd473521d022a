#pragma once
// The kernel that runs groups of elementwise operations over any one layout.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily elementwise_family;

} // namespace lanner
