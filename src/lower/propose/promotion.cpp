#include "lower/propose/promotion.h"

#include <algorithm>

#include <lanner/tensor.h>

#include "base/limits/account.h"
#include "graph/copy.h"
#include "graph/op.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"
#include "program/weights/packing.h"
#include "tensor/half_types.h"

namespace lanner {
namespace {

bool holds_halves(const Type& type) {
  return type.is_tensor() && is_half(type.dtype());
}

Type promoted_type(const Type& type) {
  return holds_halves(type) ? type.with_dtype(DType::f32) : type;
}

bool has_halves(const Node& node) {
  return std::ranges::any_of(node.inputs(),
                             [](const Value* value) { return value && holds_halves(value->type); }) ||
         std::ranges::any_of(node.outputs(), [](const auto& value) { return holds_halves(value->type); });
}

/// Whether the operator means the same in f32: not where it names an element type or reads bits. A cast to
/// f32 takes the value from before rounding.
bool means_the_same(const Node& node) {
  if (ops::is_cast(node)) return node.output()->type.dtype() == DType::f32;
  if (node.op().traits.type_bound) return false;
  return std::ranges::none_of(node.attributes,
                              [](const auto& one) { return kind_of(one.second) == AttributeKind::dtype; });
}

/// Whether the node gets a counterpart in f32 for groups: not where its sizes are data-dependent, as no cast
/// is inserted there.
bool has_counterpart(const Node& node) {
  if (!node.op().pure || !node.regions().empty() || !is_planned(node)) return false;
  return !has_halves(node) || means_the_same(node);
}

} // namespace

std::unique_ptr<Promotion> Promotion::of(const Graph& graph, const LowerOptions& options) {
  const Region::Nodes& nodes = graph.body().nodes();
  const auto half = [](const auto& node) { return !is_constant(*node) && has_halves(*node); };
  if (!options.target.device.is_host() || std::ranges::none_of(nodes, half)) return nullptr;
  std::unique_ptr<Promotion> made(new Promotion(options));
  made->graph_ = std::make_shared<Graph>(graph.ops(), "promoted");
  for (const auto& node : nodes) {
    check_deadline();
    made->follow(*node);
  }
  for (const Value* output : graph.body().outputs()) made->leave(*output);
  return made;
}

Value* Promotion::counterpart(const Value& value) {
  Value*& known = values_[&value];
  if (!known) known = graph_->add_input(graph_->unique_name(value.name()), promoted_type(value.type));
  return known;
}

void Promotion::leave(const Value& value) {
  graph_->add_output(graph_->unique_name(value.name()), counterpart(value));
}

/// The constant as f32 is another form of the same constant; plans store it once.
void Promotion::follow_constant(const Node& node) {
  Tensor tensor = *node.output()->constant();
  if (is_half(node.output()->type.dtype())) tensor = options_.constants.get(tensor, of_type(DType::f32));
  values_[node.output()] = graph_->constant(std::move(tensor), node.output()->name());
}

void Promotion::follow(Node& node) {
  if (nodes_.contains(&node)) return;
  nodes_[&node] = nullptr;
  if (is_constant(node)) return follow_constant(node);
  if (!has_counterpart(node)) {
    // Its results are inputs of its readers; its own inputs must exist after groups.
    for (const Value* input : node.inputs())
      if (input) leave(*input);
    return;
  }
  NodeCopier copier(graph_->body());
  copier.convert_type = promoted_type;
  for (const Value* input : node.inputs())
    if (input) copier.map(input, counterpart(*input));
  Node* copy = copier.copy(node);
  for (std::size_t o = 0; o < node.outputs().size(); ++o) values_[node.output(o)] = copy->output(o);
  nodes_[&node] = copy;
  originals_[copy] = &node;
}

void Promotion::forget(const Node& node) {
  nodes_.erase(&node);
  for (const auto& output : node.outputs()) values_.erase(output.get());
}

Node* Promotion::promoted(Node& node) {
  if (!nodes_.contains(&node)) {
    for (const Value* input : node.inputs())
      if (input && input->producer() && !nodes_.contains(input->producer())) follow(*input->producer());
    follow(node);
  }
  return has_halves(node) ? nodes_.at(&node) : nullptr;
}

} // namespace lanner
