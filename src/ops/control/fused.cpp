#include "base/check.h"
#include "graph/copy.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_fused(InferContext& context) {
  std::vector<Type> parameters;
  for (std::size_t i = 0; i < context.inputs(); ++i) parameters.push_back(context.input(i));
  std::vector<Type> outputs = context.infer_region(0, parameters);
  check(outputs.size() == context.outputs(), ErrorCode::invalid_argument,
        "fused: the region gives {} values, the node has {} outputs", outputs.size(), context.outputs());
  for (std::size_t i = 0; i < outputs.size(); ++i) context.set_output(i, std::move(outputs[i]));
}

// The body replaces the node, its parameters replaced by the node's inputs.
static void expand_fused(ExpandContext& context) {
  const Region& body = *context.node.regions()[0];
  context.results = inline_region(body, context.node.own_inputs(), &context.node);
}

std::vector<OpDef> fused_ops() {
  OpDef op;
  op.name = "fused";
  op.max_inputs = OpDef::any;
  op.max_outputs = OpDef::any;
  op.regions = 1;
  op.operands = {any_operand("input")};
  op.attributes = {required_attribute("kind", AttributeKind::string, any_text())};
  op.infer = infer_fused;
  op.expand = expand_fused;
  op.traits = {.pattern = Pattern::group, .type_bound = true};
  return {op};
}

} // namespace lanner::ops
