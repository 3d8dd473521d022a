// Everything that only regroups dims becomes one `reshape` with a constant target, or nothing.

#include <algorithm>

#include "passes/passes.h"
#include "passes/rewriting/reshape_target.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

static bool regroups(const Node& node) {
  const std::string& kind = node.kind();
  return kind == "reshape" || kind == "squeeze" || kind == "unsqueeze" || kind == "flatten";
}

/// Whether it drops an open dim, which has to be 1 once sizes are known: a reshape would not check that.
static bool asks_for_one(const Node& node) {
  if (node.kind() != "squeeze" || !node.input(0)->type.ranked() || !node.output()->type.ranked())
    return false;
  const auto ones = [](const Type& type) {
    return std::ranges::count_if(type.dims(), [](const Dim& dim) { return dim.constant() == 1; });
  };
  const Type &input = node.input(0)->type, &output = node.output()->type;
  return static_cast<std::size_t>(ones(input) - ones(output)) < input.rank() - output.rank();
}

static Value* origin(Value* value) {
  while (value->producer() && regroups(*value->producer()) && !asks_for_one(*value->producer()) &&
         value->producer()->input(0)->type.ranked())
    value = value->producer()->input(0);
  return value;
}

static bool simplify(Node& node) {
  if (!regroups(node) || !node.output()->type.ranked() || !node.input(0)->type.ranked()) return false;
  if (asks_for_one(node)) return false;
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
