#pragma once
// The operator `picture`.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily picture_family;

} // namespace lanner
