#pragma once
// Networks of 16-bit reals as networks of f32, which INT8 starts from.

#include "graph/graph.h"

namespace lanner::passes {

/// Makes every f16 and bf16 value f32, in regions too; inputs and outputs of the graph keep their types, by
/// casts behind and before them, and so do constants, whose casts are folded. Roundings to 16 bits within the
/// network are gone. Returns whether anything changed: nothing does where an operator reads the bits of such
/// values.
bool widen_halves(Graph& graph);

} // namespace lanner::passes
