#include "passes/int8/widen_halves.h"

#include <algorithm>
#include <vector>

#include <lanner/tensor.h>

#include "graph/infer.h"
#include "graph/op.h"
#include "ops/table/named.h"
#include "passes/rewriting/rewrite.h"
#include "tensor/half_types.h"

namespace lanner::passes {
namespace {

bool holds_halves(const Type& type) {
  return type.is_tensor() && is_half(type.dtype());
}

template<typename Visit>
void each_type(const Region& region, const Visit& visit) {
  for (const auto& parameter : region.parameters()) visit(parameter->type);
  for (const auto& node : region.nodes()) {
    for (const auto& output : node->outputs()) visit(output->type);
    for (const auto& inner : node->regions()) each_type(*inner, visit);
  }
}

/// Whether the node reads the bits of halves, or is of a sequence, whose items' type it would have to change.
bool keeps_halves(const Node& node) {
  const bool reads_halves = std::ranges::any_of(
      node.inputs(), [](const Value* value) { return value && holds_halves(value->type); });
  const bool of_items =
      std::ranges::any_of(node.outputs(), [](const auto& value) { return !value->type.is_tensor(); });
  return of_items ||
         (reads_halves && node.op().traits.type_bound && !ops::is_cast(node) &&
          pattern_of(node) != Pattern::movement) ||
         node.kind() == "bit_cast";
}

bool can_widen(const Region& region) {
  return std::ranges::all_of(region.nodes(), [](const auto& node) {
    return !keeps_halves(*node) &&
           std::ranges::all_of(node->regions(), [](const auto& inner) { return can_widen(*inner); });
  });
}

AttributeMap to_type(DType type) {
  AttributeMap attributes;
  attributes.set("to", type);
  return attributes;
}

void widen_attributes(Node& node) {
  AttributeMap widened = node.attributes;
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* type = std::get_if<DType>(&attribute); type && is_half(*type))
      widened.set(name, DType::f32);
    const auto* tensor = std::get_if<Tensor>(&attribute);
    if (!tensor || !is_half(tensor->dtype())) continue;
    Tensor wide = Tensor::allocate(DType::f32, tensor->shape());
    copy_tensor(*tensor, wide);
    widened.set(name, wide);
  }
  node.attributes = std::move(widened);
}

/// A cast of `value` to f32 for all its readers, placed before `first`.
void cast_behind(Value& value, Node* first) {
  Graph& graph = value.region()->graph();
  std::vector<Value*> inputs{&value};
  Node* const cast = value.region()->create(graph.ops().get("cast"), inputs, first);
  cast->attributes = to_type(DType::f32);
  Value* wide = cast->add_output(graph.unique_name(value.name() + "_f32"), value.type.with_dtype(DType::f32));
  value.replace_all_uses(wide);
  cast->set_input(0, &value);
}

void widen(Region& region, bool outermost) {
  Node* const first = region.nodes().empty() ? nullptr : region.nodes().front().get();
  for (const auto& parameter : region.parameters()) {
    if (!holds_halves(parameter->type)) continue;
    if (outermost)
      cast_behind(*parameter, first);
    else
      parameter->type = parameter->type.with_dtype(DType::f32);
  }
  for (Node* node = first; node; node = region.next(node)) {
    for (const auto& inner : node->regions()) widen(*inner, false);
    if (is_constant(*node)) {
      if (holds_halves(node->output()->type)) cast_behind(*node->output(), region.next(node));
      continue;
    }
    widen_attributes(*node);
    for (const auto& output : node->outputs())
      if (holds_halves(output->type)) output->type = output->type.with_dtype(DType::f32);
  }
}

} // namespace

bool widen_halves(Graph& graph) {
  bool halves = false;
  each_type(graph.body(), [&](const Type& type) { halves = halves || holds_halves(type); });
  if (!halves || !can_widen(graph.body())) return false;
  std::vector<Type> outputs;
  for (const Value* output : graph.body().outputs()) outputs.push_back(output->type);
  widen(graph.body(), true);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value* output = graph.body().outputs()[i];
    if (!holds_halves(outputs[i])) continue;
    graph.body().set_output(i, graph.emit("cast", std::vector<Value*>{output}, to_type(outputs[i].dtype()),
                                          outputs[i], output->name()));
  }
  infer_types(graph);
  return true;
}

} // namespace lanner::passes
