// Everything that only regroups dims becomes one `reshape` with a constant target, or nothing.

#include "passes/passes.h"
#include "passes/reshape_target.h"
#include "passes/rewrite.h"

namespace lanner::passes {

static bool regroups(const Node& node) {
  const std::string& kind = node.kind();
  return kind == "reshape" || kind == "squeeze" || kind == "unsqueeze" || kind == "flatten";
}

static Value* origin(Value* value) {
  while (value->producer() && regroups(*value->producer()) && value->producer()->input(0)->type.ranked())
    value = value->producer()->input(0);
  return value;
}

static bool simplify(Node& node) {
  if (!regroups(node) || !node.output()->type.ranked() || !node.input(0)->type.ranked()) return false;
  Value* from = origin(node.input(0));
  if (from->type == node.output()->type) {
    replace(node, from);
    return true;
  }
  const auto target = reshape_target(from->type, node.output()->type);
  if (!target) return false;
  const bool settled = from == node.input(0) && node.kind() == "reshape" &&
                       !node.attributes.flag("allowzero") && constant_integers(node.input(1)) == target;
  if (settled) return false;
  replace(node, emit_reshape(node, from, *target, node.output()->type));
  return true;
}

bool simplify_reshapes(Graph& graph) {
  return for_each_node(graph, simplify);
}

} // namespace lanner::passes
