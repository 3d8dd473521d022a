// Control flow: subgraphs become regions.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

const ImportGraph& graph_of(const RuleContext& context, std::string_view name) {
  return *context.get<std::shared_ptr<ImportGraph>>(name, "a graph");
}

/// The types that the subgraph declares for its parameters, where the node's inputs say no more.
std::vector<Type> declared_types(const ImportGraph& graph) {
  std::vector<Type> types;
  for (const ImportValue& input : graph.inputs)
    types.push_back(input.type.value_or(Type::unranked(DType::f32)));
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
  // Carried values have at least the element type and rank of their initial values.
  for (std::size_t i = 2; i < types.size() && i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const Type& given = inputs[i]->type;
    types[i] = given.is_tensor() ? Type::unranked(given.dtype()) : given;
  }
  if (!types.empty()) types[0] = Type(DType::i64, Shape{});
  if (types.size() > 1) types[1] = Type(DType::boolean, Shape{});
  context.fill_region(*node, node->add_region(), body, types);
  context.infer(*node);
  context.set_outputs(*node);
}

ImportAttribute attribute_of(ImportAttribute::Value value) {
  return {std::move(value), {}};
}

/// Scan of version 8 scans each batch entry separately: a scan over the batch whose body is the newer scan.
void batched_scan(RuleContext& context) {
  check(!context.has(0), ErrorCode::unsupported, "Scan of version 8 with sequence lengths is not supported");
  const ImportGraph& body = graph_of(context, "body");
  const std::int64_t scanned = context.integer("num_scan_inputs", 0);
  ImportNode inner = context.node;
  inner.inputs.clear();
  inner.outputs.clear();
  inner.attributes = {
      {"body", attribute_of(context.get<std::shared_ptr<ImportGraph>>("body", "a graph"))},
      {"num_scan_inputs", attribute_of(scanned)},
      {"scan_input_axes", attribute_of(std::vector<std::int64_t>(
                              static_cast<std::size_t>(std::max<std::int64_t>(scanned, 0)), 0))}};
  if (context.has_attribute("directions"))
    inner.attributes["scan_input_directions"] = attribute_of(context.integers("directions"));
  ImportGraph entry;
  entry.name = body.name + "_batch";
  for (const ImportValue& input : body.inputs)
    entry.inputs.push_back({"batch/" + input.name, {}}), inner.inputs.push_back("batch/" + input.name);
  for (const ImportValue& output : body.outputs)
    entry.outputs.push_back({"batch/" + output.name, {}}), inner.outputs.push_back("batch/" + output.name);
  entry.nodes.push_back(std::move(inner));

  std::vector<Value*> inputs = context.all_inputs();
  inputs.erase(inputs.begin());
  std::vector<Type> types;
  for (const Value* input : inputs) {
    check(input && input->type.ranked() && input->type.rank() >= 1, ErrorCode::unsupported,
          "Scan of version 8 needs inputs of known ranks");
    types.push_back(input->type.with_dims({input->type.dims().begin() + 1, input->type.dims().end()}));
  }
  AttributeMap attributes;
  attributes.set("num_scan_inputs", static_cast<std::int64_t>(inputs.size()));
  Node* node = context.emit_node("scan", inputs, std::move(attributes), context.node.outputs.size());
  context.fill_region(*node, node->add_region(), entry, types);
  context.infer(*node);
  context.set_outputs(*node);
}

void scan(RuleContext& context) {
  // The scan inside a batched one has attributes that only newer versions have.
  if (context.version < 9 && !context.has_attribute("scan_input_axes")) return batched_scan(context);
  const ImportGraph& body = graph_of(context, "body");
  Node* node = context.emit_node("scan", context.all_inputs(), context.attributes("scan", {"body"}),
                                 context.node.outputs.size());
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
