#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/transposes.h"

namespace lanner::passes {

bool simplify_transposes(Graph& graph) {
  return for_each_node(graph, simplify_transpose);
}

} // namespace lanner::passes
