#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// A reorder's value is its first input's; only the storage of its output differs, which the reference
// ignores. Scales and zero points that either storage refers to are further inputs.
std::vector<OpDef> reorder_ops() {
  OpDef op;
  op.name = "reorder";
  op.min_inputs = 1;
  op.max_inputs = OpDef::any;
  op.operands = {any_operand("input")};
  op.elementwise = true;
  op.view = true;
  op.infer = [](InferContext& context) {
    context.set_output(0, context.input(0));
    context.set_known(0, context.known(0));
  };
  op.reference = [](KernelContext& context) { copy_tensor(context.input(0), context.output(0)); };
  op.traits = {.pattern = Pattern::conversion, .type_bound = true, .range = preserved_range()};
  return {op};
}

} // namespace lanner::ops
