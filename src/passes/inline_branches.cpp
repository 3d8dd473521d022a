#include "graph/copy.h"
#include "graph/infer.h"
#include "ops/control/control_flow.h"
#include "ops/definition/recipe.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

/// The region of the branch taken, where the condition is known.
static const Region* taken(const Node& node) {
  if (node.kind() != "if") return nullptr;
  const Tensor* condition = node.input(0)->constant();
  if (!condition || condition->dtype() != DType::boolean || condition->elements() != 1) return nullptr;
  return node.regions()[ops::read_condition(*condition, "if: condition") ? 0 : 1].get();
}

bool inline_branches(Graph& graph) {
  const bool changed = for_each_node(graph, [&](Node& node) {
    const Region* region = taken(node);
    if (!region) return false;
    note_decided(graph, node.input(0));
    replace_by_copies(node, inline_region(*region, node.inputs().last(node.captures()), &node));
    return true;
  });
  if (changed) infer_types(graph); // the nodes after these now have inputs of known sizes
  return changed;
}

} // namespace lanner::passes
