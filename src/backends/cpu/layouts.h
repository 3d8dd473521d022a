#pragma once
// The layouts that kernels of the CPU offer for activations.

#include <vector>

#include <lanner/layout.h>
#include <lanner/shape.h>

namespace lanner {

/// Row-major and, from rank 3 on, channels last and in blocks of this processor's vectors; each once, in its
/// canonical form.
std::vector<Layout> offered_layouts(const Shape& shape);

} // namespace lanner
