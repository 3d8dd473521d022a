#pragma once
// A variant of an engine as it is made: specialised, lowered, placed, over one stream or several.

#include <memory>

#include "engine/compiler.h"
#include "engine/state.h"
#include "engine/variants.h"
#include "graph/graph.h"

namespace lanner {

/// As Compiler::variant.
Specialisation lowered_variant(const EngineState& state, const VariantKey& key, const VariantMaking& making,
                               double& seconds, const Control& control);

/// A copy of `graph` for concrete input shapes, canonical again.
std::unique_ptr<Graph> specialised_graph(const Graph& graph, const InputShapes& shapes, const Limits& limits,
                                         const Control& control = {});

} // namespace lanner
