#pragma once
// The layouts that kernels of the CPU offer for activations.

#include <string_view>
#include <vector>

#include <lanner/layout.h>
#include <lanner/shape.h>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// Row-major and, from rank 3 on, channels last and in blocks of this processor's vectors; each once, in its
/// canonical form.
std::vector<Layout> offered_layouts(const Shape& shape);
/// Of a kernel that takes all values in row-major order and their own types.
Tactic row_major_tactic(std::string_view kernel, const Node& node);

} // namespace lanner
