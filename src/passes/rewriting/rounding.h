#pragma once
// Values as a narrower type holds them.

#include "graph/graph.h"

namespace lanner::passes {

/// `value`, of f32, rounded to `type` and back.
Value* rounded_through(Graph& graph, Value& value, DType type);

} // namespace lanner::passes
