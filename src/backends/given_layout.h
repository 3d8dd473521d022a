#pragma once
// Layouts that come from outside.

#include <lanner/layout.h>
#include <lanner/shape.h>

namespace lanner {

/// Whether it is one of this shape: a permutation of its dims, with few small blocks of dims that it has.
bool is_layout_of(const Layout& layout, const Shape& shape);

} // namespace lanner
