#pragma once
// Sizes of inputs that a model leaves open.

#include <string>

#include "graph/graph.h"

namespace lanner {

/// Sizes of open dims that weights decide: channels of convolutions, depths of matrix products. A dim that
/// two of them decide differently is left out.
Bindings sizes_from_weights(const Graph& graph);

/// What is assumed of inputs when nothing says more, as the end of a message that a build fails with; empty
/// where no size is open.
std::string assumed_sizes(const Graph& graph);

} // namespace lanner
