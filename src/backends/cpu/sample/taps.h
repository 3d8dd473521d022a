#pragma once
// resize of f32 in all forms whose results are sums of elements, in row-major order, channels last and in
// blocks: axis by axis, with places and weights that the definition works out once.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily taps_family;

} // namespace lanner
