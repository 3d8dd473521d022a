#pragma once
// The activation layouts that CPU kernels offer.

#include <string_view>
#include <vector>

#include <lanner/layout.h>
#include <lanner/shape.h>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// Row-major and, from rank 3 on, channels last and blocked by this processor's vector width; without
/// duplicates, in canonical form.
std::vector<Layout> offered_layouts(const Shape& shape);
/// For a kernel that takes all values row-major and in their own types.
Tactic row_major_tactic(std::string_view kernel, const Node& node);

} // namespace lanner
