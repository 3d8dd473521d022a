// Region 0 is what runs when the condition holds, region 1 what runs when not. Neither has parameters of its
// own.

#include "base/check.h"
#include "ops/control_flow.h"
#include "ops/known.h"
#include "ops/table.h"

namespace lanner::ops {

static void infer_if(InferContext& context) {
  check(context.input(0).dtype() == DType::boolean, ErrorCode::invalid_argument,
        "if: condition is {}, expected bool", context.input(0).to_string());
  const std::vector<Type> then_types = context.infer_region(0, {}), else_types = context.infer_region(1, {});
  check(then_types.size() == context.outputs() && else_types.size() == context.outputs(),
        ErrorCode::invalid_argument, "if: the branches give {} and {} values, the node has {} outputs",
        then_types.size(), else_types.size(), context.outputs());
  const auto condition = known_integers(context, 0);
  for (std::size_t i = 0; i < context.outputs(); ++i) {
    if (condition && condition->size() == 1)
      context.set_output(i, condition->front() != 0 ? then_types[i] : else_types[i]);
    else
      context.set_output(i,
                         common_type(context, then_types[i], else_types[i], fmt::format("if: output {}", i)));
  }
}

static void run_if(KernelContext& context) {
  const bool holds = read_condition(context.input(0), "if: condition");
  std::vector<Item> results = context.run_region(holds ? 0 : 1, {});
  for (std::size_t i = 0; i < results.size(); ++i) context.set_item(i, std::move(results[i]));
}

std::vector<OpDef> if_ops() {
  OpDef op;
  op.name = "if";
  op.min_inputs = op.max_inputs = 1;
  op.max_outputs = OpDef::any;
  op.regions = 2;
  op.infer = infer_if;
  op.reference = run_if;
  return {op};
}

} // namespace lanner::ops
