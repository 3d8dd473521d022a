#include "passes/passes.h"
#include "passes/transposes.h"
#include "passes/rewrite.h"

namespace lanner::passes {

bool simplify_transposes(Graph& graph) {
  return for_each_node(graph, simplify_transpose);
}

} // namespace lanner::passes
