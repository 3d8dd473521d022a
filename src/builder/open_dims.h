#pragma once
// Sizes of inputs that a model leaves open.

#include <map>
#include <string>

#include <lanner/preprocess.h>

#include "graph/graph.h"

namespace lanner {

/// Sizes of open dims that weights decide: channels of convolutions, depths of matrix products. A dim that
/// two of them decide differently is left out.
Bindings sizes_from_weights(const Graph& graph);

/// What is expected of inputs whose preprocessing is said: one picture, of the size that the preprocessing
/// gives. Becomes the opt value of what is open, unless the model does not take it.
void expect_pictures(Graph& graph, const std::map<std::string, Preprocess>& preprocess);

} // namespace lanner
