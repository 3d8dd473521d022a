#include <algorithm>

#include "graph/infer.h"
#include "graph/op.h"
#include "ops/definition/recipe.h"
#include "ops/interpreter/folding.h"
#include "passes/passes.h"
#include "passes/rewriting/constant_math.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

Value* put_constant(Node& node, std::size_t i, Tensor tensor, const Recipe& recipe) {
  Value* value = node.region()->graph().constant(std::move(tensor), node.output(i)->name(), &node);
  value->producer()->sources = node.sources;
  set_recipe(*value->producer(), recipe);
  node.output(i)->replace_all_uses(value);
  take_name(*value, *node.output(i));
  return value;
}

bool is_folded_away(const Node& node) {
  return std::ranges::all_of(node.outputs(), [](const auto& output) { return output->unused(); });
}

/// Quantised weights stay packed: lowering dequantises them where no kernel takes them packed. Constants that
/// are not weights, as in recipes, are folded like any others.
bool is_weight(const Node& node) {
  return node.kind() == "dequantize_linear" && node.input(0)->constant() &&
         !recipe_of(*node.input(0)->producer()).literal();
}

bool compute(Node& node) {
  if (is_weight(node)) return false;
  const auto results = ops::folded_results(node);
  const auto recipes = results ? recipes_of_results(node) : std::nullopt;
  if (!recipes) return false;
  for (std::size_t i = 0; i < results->size(); ++i) {
    if (!node.output(i)->unused()) put_constant(node, i, (*results)[i].tensor, (*recipes)[i]);
  }
  node.region()->erase(&node);
  return true;
}

bool place_known(Node& node, const KnownValues& known) {
  if (node.kind() == "constant" || !ops::is_pure(node)) return false;
  bool changed = false;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const Known& about = known.of(node.output(i));
    if (!about.tensor || node.output(i)->unused()) continue;
    put_constant(node, i, *about.tensor, {});
    changed = true;
  }
  if (changed && is_folded_away(node)) node.region()->erase(&node);
  return changed;
}

} // namespace

Value* fold_node(Node& node) {
  const auto results = ops::folded_results(node);
  if (!results || !results->front().tensor.defined()) return nullptr;
  const auto recipes = recipes_of_results(node);
  if (!recipes) return nullptr;
  Value* made = put_constant(node, 0, results->front().tensor, recipes->front());
  node.region()->erase(&node);
  return made;
}

bool fold_constants(Graph& graph) {
  const KnownValues known(graph);
  // A constant's known sizes do not depend on the values of its source weights.
  return for_each_node(graph, [&](Node& node) { return compute(node) || place_known(node, known); });
}

} // namespace lanner::passes
