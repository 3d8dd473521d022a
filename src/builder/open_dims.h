#pragma once
// Infers open sizes of a model's inputs.

#include <map>
#include <string>

#include <lanner/preprocess.h>

#include "graph/graph.h"

namespace lanner {

/// Sizes of open dims determined by weights: channels of convolutions, depths of matrix products. A dim with
/// contradicting sizes is left out.
Bindings sizes_from_weights(const Graph& graph);

/// Sets opt values of open sizes for inputs with preprocessing: one picture of the preprocessed size, unless
/// the model rejects that.
void expect_pictures(Graph& graph, const std::map<std::string, Preprocess>& preprocess);

} // namespace lanner
