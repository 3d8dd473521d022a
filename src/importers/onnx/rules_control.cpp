// Control flow: subgraphs become regions.

#include <lanner/error.h>

#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

const ImportGraph& graph_of(const RuleContext& context, std::string_view name) {
  const auto* value = context.attribute(name);
  const auto* graph = value ? std::get_if<std::shared_ptr<ImportGraph>>(value) : nullptr;
  check(graph != nullptr, ErrorCode::bad_data, "attribute {}: expected a graph", name);
  return **graph;
}

/// What the subgraph's file says of its parameters, where the node's inputs do not tell more.
std::vector<Type> declared_types(const ImportGraph& graph) {
  std::vector<Type> types;
  for (const ImportValue& input : graph.inputs) types.push_back(input.type.value_or(Type::unranked(DType::f32)));
  return types;
}

void if_rule(RuleContext& context) {
  Node* node = context.emit_node("if", {context.required(0)}, {}, context.node.outputs.size());
  for (const char* name : {"then_branch", "else_branch"}) {
    Region& region = node->add_region();
    context.fill_region(*node, region, graph_of(context, name), {});
  }
  context.infer(*node);
  context.set_outputs(*node);
}

void loop(RuleContext& context) {
  const ImportGraph& body = graph_of(context, "body");
  std::vector<Value*> inputs = context.all_inputs();
  inputs.resize(context.inputs(), nullptr);
  Node* node = context.emit_node("loop", inputs, {}, context.node.outputs.size());
  std::vector<Type> types = declared_types(body);
  // Carried values have at least the element type and rank of what goes in first.
  for (std::size_t i = 2; i < types.size() && i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const Type& given = inputs[i]->type;
    types[i] = given.is_tensor() ? Type::unranked(given.dtype()) : given;
  }
  if (types.size() > 0) types[0] = Type(DType::i64, Shape{});
  if (types.size() > 1) types[1] = Type(DType::boolean, Shape{});
  context.fill_region(*node, node->add_region(), body, types);
  context.infer(*node);
  context.set_outputs(*node);
}

void scan(RuleContext& context) {
  check(context.version >= 9, ErrorCode::unsupported, "Scan of version 8 (with a batch dimension)");
  const ImportGraph& body = graph_of(context, "body");
  Node* node = context.emit_node("scan", context.all_inputs(), context.attributes("scan", {"body"}), context.node.outputs.size());
  context.fill_region(*node, node->add_region(), body, declared_types(body));
  context.infer(*node);
  context.set_outputs(*node);
}

void sequence_map(RuleContext& context) {
  const ImportGraph& body = graph_of(context, "body");
  Node* node = context.emit_node("sequence_map", context.all_inputs(), {}, context.node.outputs.size());
  context.fill_region(*node, node->add_region(), body, declared_types(body));
  context.infer(*node);
  context.set_outputs(*node);
}


} // namespace

void add_control_rules(Rules& rules) {
  rules["If"] = if_rule;
  rules["Loop"] = loop;
  rules["Scan"] = scan;
  rules["SequenceMap"] = sequence_map;
}

} // namespace lanner::onnx
