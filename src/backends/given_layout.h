#pragma once
// Validation of layouts that come from outside.

#include <lanner/layout.h>
#include <lanner/shape.h>

namespace lanner {

/// Whether it is a layout of this shape: a permutation of its dims, with few small blocks of existing dims.
bool is_layout_of(const Layout& layout, const Shape& shape);

} // namespace lanner
