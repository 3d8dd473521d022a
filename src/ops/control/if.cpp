// Region 0 runs when the condition is true, region 1 otherwise. Neither has parameters of its own.

#include <optional>

#include "base/check.h"
#include "graph/failing.h"
#include "ops/control/control_flow.h"
#include "ops/definition/known.h"
#include "ops/table/rules.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// The types of a branch's results, or why it cannot run for the known sizes.
struct Branch {
  std::vector<Type> types;
  std::optional<Error> refused;
};

/// Which branch is taken may be data-dependent, and sizes valid for one need not fit the other.
static Branch infer_branch(InferContext& context, std::size_t r) {
  Branch branch;
  try {
    branch.types = context.infer_region(r, {});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    branch.refused = error;
    return branch;
  }
  if (const Node* failing = failing_node(*context.node().regions()[r])) {
    branch.refused.emplace(ErrorCode::invalid_argument, failing->attributes.get<std::string>("why"));
    return branch;
  }
  check(branch.types.size() == context.outputs(), ErrorCode::invalid_argument,
        "if: branch {} gives {} values, the node has {} outputs", r, branch.types.size(), context.outputs());
  return branch;
}

static void set_outputs(InferContext& context, const Branch& branch) {
  for (std::size_t i = 0; i < context.outputs(); ++i) context.set_output(i, branch.types[i]);
}

static void infer_if(InferContext& context) {
  check(context.input(0).dtype() == DType::boolean, ErrorCode::invalid_argument,
        "if: condition is {}, expected bool", context.input(0).to_string());
  const Branch branches[] = {infer_branch(context, 0), infer_branch(context, 1)};
  const auto condition = known_integers(context, 0);
  if (condition && condition->size() == 1) {
    const Branch& taken = branches[condition->front() != 0 ? 0 : 1];
    if (taken.refused) throw Error(*taken.refused);
    return set_outputs(context, taken);
  }
  if (branches[0].refused && branches[1].refused) throw Error(*branches[0].refused);
  if (branches[0].refused || branches[1].refused)
    return set_outputs(context, branches[branches[0].refused ? 1 : 0]);
  for (std::size_t i = 0; i < context.outputs(); ++i)
    context.set_output(
        i, common_type(context, branches[0].types[i], branches[1].types[i], fmt::format("if: output {}", i)));
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
  op.operands = {one_element("condition", dtypes::booleans)};
  op.infer = infer_if;
  op.reference = run_if;
  op.traits = {.pattern = Pattern::region, .control_inputs = 1};
  return {op};
}

} // namespace lanner::ops
