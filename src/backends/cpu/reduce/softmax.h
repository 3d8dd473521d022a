#pragma once
// softmax and log_softmax over any axis, of f32 and of halves.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily softmax_family;

} // namespace lanner
