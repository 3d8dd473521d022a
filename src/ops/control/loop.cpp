// The region takes the iteration number, the condition and the loop-carried values; it returns the condition,
// the loop-carried values and the values that are stacked over the iterations.

#include "base/check.h"
#include "ops/control/control_flow.h"
#include "ops/definition/known.h"
#include "ops/table/rules.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static std::size_t carried_count(std::size_t inputs) {
  return inputs > 2 ? inputs - 2 : 0;
}

/// Upper bound of the iterations, exact when no condition can end the loop early.
static Dim iteration_count(InferContext& context) {
  const auto trips = known_scalar(context, 0);
  // Without a condition input the body's own condition still ends the loop, so only a bound is known.
  return context.fresh("iterations", trips ? max(*trips, Dim(0)) : Dim(INT64_MAX));
}

/// Whether the loop certainly runs no iteration; its results then have the types of the first one.
static bool never_runs(const InferContext& context) {
  const auto trips = known_scalar(context, 0);
  return trips && trips->is_constant() && trips->value() <= 0;
}

static Type without_rank(const Type& type) {
  switch (type.kind()) {
  case Type::Kind::sequence:
    return Type::sequence(without_rank(type.element()));
  case Type::Kind::optional:
    return Type::optional(without_rank(type.element()));
  default:
    return Type::unranked(type.dtype());
  }
}

// Loop-carried values: first the sizes of a carried value are made unknown where they change, then its rank.
// Unknown sizes already cover the `first` results. Returns whether any value was widened.
static bool widen(InferContext& context, std::span<Type> carried, std::span<const Type> results,
                  std::span<const Type> first) {
  bool widened = false;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Type& result = results[i + 1];
    const bool initial = carried[i] == context.input(i + 2);
    const bool covered = !initial && result == first[i + 1];
    if (result == carried[i] || covered || without_rank(result) == carried[i]) continue;
    Type both = common_type(context, carried[i], result, fmt::format("loop: carried value {}", i));
    if (!initial) both = without_rank(both);
    if (both == carried[i]) continue;
    carried[i] = std::move(both);
    widened = true;
  }
  return widened;
}

static void infer_loop(InferContext& context) {
  const std::size_t carried = carried_count(context.inputs());
  std::vector<Type> parameters = {Type(DType::i64, Dims{}), Type(DType::boolean, Dims{})};
  for (std::size_t i = 0; i < carried; ++i) parameters.push_back(context.input(i + 2));
  std::vector<Type> results = context.infer_region(0, parameters);
  check(results.size() == context.outputs() + 1 && context.outputs() >= carried, ErrorCode::invalid_argument,
        "loop: the body gives {} values for {} carried ones, the node has {} outputs", results.size(),
        carried, context.outputs());
  const std::vector<Type> first = results;
  while (widen(context, std::span(parameters).subspan(2), results, first)) {
    results = context.infer_region(0, parameters);
  }
  if (never_runs(context)) results = first;
  for (std::size_t i = 0; i < carried; ++i)
    context.set_output(
        i, common_type(context, context.input(i + 2),
                       common_type(context, parameters[i + 2], results[i + 1], "loop: carried value"),
                       "loop: carried value"));
  if (carried == context.outputs()) return;
  const Dim iterations = iteration_count(context);
  for (std::size_t i = carried; i < context.outputs(); ++i) {
    const Type& step = results[i + 1];
    check(step.is_tensor(), ErrorCode::invalid_argument, "loop: stacked output {} is {}, expected a tensor",
          i, step.to_string());
    if (!step.ranked()) {
      context.set_output(i, step);
      continue;
    }
    Dims dims = {iterations};
    dims.insert(dims.end(), step.dims().begin(), step.dims().end());
    context.set_output(i, step.with_dims(std::move(dims)));
  }
}

static void run_loop(KernelContext& context) {
  const std::size_t carried = carried_count(context.inputs());
  const std::int64_t trips = context.has(0) ? read_integer(context.input(0), "loop: trip count") : INT64_MAX;
  bool goes_on = !context.has(1) || read_condition(context.input(1), "loop: condition");
  std::vector<Item> parameters(2);
  for (std::size_t i = 0; i < carried; ++i) parameters.push_back(context.item(i + 2));
  std::vector<Stack> stacks(context.outputs() - carried);
  for (std::int64_t iteration = 0; iteration < trips && goes_on; ++iteration) {
    parameters[0] = Item(Tensor::scalar(iteration));
    parameters[1] = Item(Tensor::scalar(goes_on));
    std::vector<Item> results = context.run_region(0, parameters);
    check(results.size() == context.outputs() + 1, ErrorCode::internal, "loop: the body gives {} values",
          results.size());
    goes_on = read_condition(results[0].tensor, "loop: condition of the body");
    for (std::size_t i = 0; i < stacks.size(); ++i) stacks[i].push(results[carried + 1 + i].tensor);
    for (std::size_t i = 0; i < carried; ++i) parameters[i + 2] = std::move(results[i + 1]);
  }
  for (std::size_t i = 0; i < carried; ++i) context.set_item(i, std::move(parameters[i + 2]));
  for (std::size_t i = 0; i < stacks.size(); ++i)
    context.set_item(carried + i, stacks[i].joined(context.node().output(carried + i)->type));
}

std::vector<OpDef> loop_ops() {
  OpDef op;
  op.name = "loop";
  // Trip count and condition keep their positions but may both be absent.
  op.min_inputs = 0;
  op.max_inputs = OpDef::any;
  op.max_outputs = OpDef::any;
  op.regions = 1;
  op.operands = {one_element("trip_count", dtypes::counts), one_element("condition", dtypes::booleans),
                 any_operand("carried")};
  op.infer = infer_loop;
  op.reference = run_loop;
  op.traits = {.pattern = Pattern::region, .control_inputs = 2};
  return {op};
}

} // namespace lanner::ops
