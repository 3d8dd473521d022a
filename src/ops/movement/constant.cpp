#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_constant(InferContext& context) {
  const auto& value = context.attributes().get<Tensor>("value");
  // Lowered constants are kept in their storage's type; their value has the declared type.
  const Value& output = *context.node().output();
  const bool stored = output.storage.dtype == value.dtype() && output.type.is_tensor();
  context.set_output(0, Type(stored ? output.type.dtype() : value.dtype(), value.shape()));
  // Quantised numbers are not the elements' values.
  if (!output.storage.quantization) context.set_known(0, known_tensor(value));
}

static void run_constant(KernelContext& context) {
  context.set_item(0, context.attributes().get<Tensor>("value"));
}

std::vector<OpDef> constant_ops() {
  OpDef op;
  op.name = "constant";
  // For constants from source weights: the weight, or how they follow from weights (ops/definition/recipe.h).
  op.attributes = {required_attribute("value", AttributeKind::tensor, any_value()),
                   optional_attribute("weight", AttributeKind::string, any_text()),
                   optional_attribute("recipe", AttributeKind::string, any_text())};
  op.infer = infer_constant;
  op.reference = run_constant;
  op.traits = of_pattern(Pattern::constant);
  return {op};
}

} // namespace lanner::ops
