#include "passes/passes.h"
#include "passes/permutation.h"
#include "passes/reshape_target.h"
#include "passes/rewrite.h"

namespace lanner::passes {

// Dims of size 1 have no place in memory; if the others keep their order, nothing moves.
static bool moves_nothing(const Type& type, const Permutation& p) {
  std::int64_t last = -1;
  for (std::int64_t i : p) {
    if (type.dims()[static_cast<std::size_t>(i)] == Dim(1)) continue;
    if (i < last) return false;
    last = i;
  }
  return true;
}

static bool simplify(Node& node) {
  auto p = permutation_of(&node);
  if (!p) return false;
  Value* from = node.input(0);
  while (const auto earlier = permutation_of(from->producer())) {
    p = compose(*earlier, *p);
    from = from->producer()->input(0);
  }
  if (is_identity(*p)) {
    replace(node, from);
    return true;
  }
  const auto target = reshape_target(from->type, node.output()->type);
  if (target && moves_nothing(from->type, *p)) {
    replace(node, emit_reshape(node, from, *target, node.output()->type));
    return true;
  }
  if (from == node.input(0)) return false;
  replace(node, emit_transpose(node, from, *p));
  return true;
}

bool simplify_transposes(Graph& graph) {
  return for_each_node(graph, simplify);
}

} // namespace lanner::passes
