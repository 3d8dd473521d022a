#include <algorithm>

#include "ops/control/control_flow.h"
#include "ops/definition/permutation.h"
#include "ops/definition/recipe.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

static bool is_dropout_in_inference(const Node& node) {
  if (node.outputs().size() > 1 && !node.output(1)->unused()) return false;
  if (!node.input(2)) return true;
  const Tensor* training = node.input(2)->constant();
  return training && training->elements() == 1 && training->dtype() == DType::boolean &&
         !ops::read_condition(*training, "dropout: training_mode");
}

/// A source weight of several numbers may be refitted, so its current values decide nothing.
static bool all_are(const Value* value, double number) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (tensor && tensor->elements() > 1 && !recipe_of(*value->producer()).literal()) return false;
  if (!tensor || tensor->elements() == 0 || !(is_float(tensor->dtype()) || is_integer(tensor->dtype())))
    return false;
  const auto values = constant_reals(value);
  return values && std::ranges::all_of(*values, [&](double each) { return each == number; });
}

static bool keeps_order(const Node& transpose) {
  const auto order = ops::permutation_of(&transpose);
  return order && ops::is_identity(*order);
}

static bool pads_nothing(const Node& node) {
  const auto pads = constant_integers(node.input(1));
  return pads && std::ranges::all_of(*pads, [](std::int64_t pad) { return pad == 0; });
}

// The input that `node` returns unchanged if only the types agree, or null.
static Value* same_as(const Node& node) {
  const std::string& kind = node.kind();
  Value *first = node.input(0), *second = node.input(1);
  if (kind == "identity" || kind == "cast" || kind == "cast_like") return first;
  if (kind == "dropout") return is_dropout_in_inference(node) ? first : nullptr;
  const bool variadic = kind == "concat" || kind == "sum" || kind == "mean" || kind == "max" || kind == "min";
  if (variadic) return node.own_inputs().size() == 1 ? first : nullptr;
  if (kind == "expand" || kind == "reshape" || kind == "squeeze" || kind == "unsqueeze" || kind == "flatten")
    return first;
  if (kind == "tile") return all_are(second, 1) ? first : nullptr;
  if (kind == "transpose") return keeps_order(node) ? first : nullptr;
  if (kind == "pad") return pads_nothing(node) ? first : nullptr;
  if (kind == "mul") return all_are(second, 1) ? first : all_are(first, 1) ? second : nullptr;
  if (kind == "add") return all_are(second, 0) ? first : all_are(first, 0) ? second : nullptr;
  if (kind == "div" || kind == "pow") return all_are(second, 1) ? first : nullptr;
  if (kind == "sub") return all_are(second, 0) ? first : nullptr;
  return nullptr;
}

bool remove_identities(Graph& graph) {
  return for_each_node(graph, [&](Node& node) {
    Value* same = same_as(node);
    // Equal symbols are equal sizes, so with equal types nothing was broadcast, converted or reshaped.
    const bool known = same && (node.kind() == "identity" || same->type.ranked() || !same->type.is_tensor());
    if (!known || !(same->type == node.output()->type)) return false;
    for (const Value* input : node.own_inputs())
      if (input != same) note_decided(graph, input);
    replace(node, same);
    return true;
  });
}

} // namespace lanner::passes
