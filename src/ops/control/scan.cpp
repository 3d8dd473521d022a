// The region takes the states and one slice of each scanned input; it returns the states and one slice of
// each stacked output.

#include "base/check.h"
#include "ops/control/control_flow.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static Type without_axis(const Type& type, std::int64_t axis) {
  if (!type.ranked()) return type;
  Dims dims = type.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(resolve_axis(axis, dims.size())));
  return type.with_dims(std::move(dims));
}

static void infer_scan(InferContext& context) {
  const ScanPlan plan = plan_scan(context.attributes(), context.inputs(), context.outputs());
  std::vector<Type> parameters;
  for (std::size_t i = 0; i < plan.states; ++i) parameters.push_back(context.input(i));
  std::optional<Dim> steps;
  for (std::size_t i = 0; i < plan.scanned; ++i) {
    const Type& type = context.input(plan.states + i);
    parameters.push_back(without_axis(type, plan.input_axes[i]));
    if (!type.ranked()) continue;
    const Dim size = type.dims()[resolve_axis(plan.input_axes[i], type.rank())];
    if (steps) require_equal(size, *steps, "scan: length of a scanned input");
    if (!steps || size.is_constant()) steps = size;
  }
  const std::vector<Type> results = context.infer_region(0, parameters);
  check(results.size() == context.outputs(), ErrorCode::invalid_argument,
        "scan: the body gives {} values, the node has {} outputs", results.size(), context.outputs());
  if (!steps) steps = context.fresh("steps", Dim(INT64_MAX));
  for (std::size_t i = 0; i < plan.states; ++i)
    context.set_output(i, common_type(context, parameters[i], results[i], "scan: state"));
  for (std::size_t i = 0; i < plan.stacked; ++i) {
    const Type& step = results[plan.states + i];
    if (!step.ranked()) {
      context.set_output(plan.states + i, step);
      continue;
    }
    Dims dims = step.dims();
    const std::size_t axis = resolve_axis(plan.output_axes[i], dims.size() + 1);
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), *steps);
    context.set_output(plan.states + i, step.with_dims(std::move(dims)));
  }
}

static void run_scan(KernelContext& context) {
  const ScanPlan plan = plan_scan(context.attributes(), context.inputs(), context.outputs());
  std::vector<Item> parameters;
  for (std::size_t i = 0; i < plan.states; ++i) parameters.push_back(context.item(i));
  parameters.resize(plan.states + plan.scanned);
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < plan.scanned; ++i)
    axes.push_back(resolve_axis(plan.input_axes[i], context.input(plan.states + i).rank()));
  const std::int64_t steps = context.input(plan.states).shape()[axes[0]];
  for (std::size_t i = 0; i < plan.scanned; ++i)
    check(context.input(plan.states + i).shape()[axes[i]] == steps, ErrorCode::invalid_argument,
          "scan: scanned input {} has length {}, the first has {}", i,
          context.input(plan.states + i).shape()[axes[i]], steps);
  std::vector<Stack> stacks;
  for (std::size_t i = 0; i < plan.stacked; ++i)
    stacks.emplace_back(plan.output_axes[i], plan.output_directions[i] != 0);
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < plan.scanned; ++i) {
      const std::int64_t place = plan.input_directions[i] != 0 ? steps - 1 - step : step;
      const Tensor& scanned = context.input(plan.states + i);
      Tensor slice = Tensor::allocate(scanned.dtype(), without_axis(scanned.shape(), axes[i]));
      take_slice(scanned, axes[i], place, slice);
      parameters[plan.states + i] = Item(std::move(slice));
    }
    std::vector<Item> results = context.run_region(0, parameters);
    check(results.size() == context.outputs(), ErrorCode::internal, "scan: the body gives {} values",
          results.size());
    for (std::size_t i = 0; i < plan.stacked; ++i) stacks[i].push(results[plan.states + i].tensor);
    for (std::size_t i = 0; i < plan.states; ++i) parameters[i] = std::move(results[i]);
  }
  for (std::size_t i = 0; i < plan.states; ++i) context.set_item(i, std::move(parameters[i]));
  for (std::size_t i = 0; i < plan.stacked; ++i)
    context.set_item(plan.states + i, stacks[i].joined(context.node().output(plan.states + i)->type));
}

std::vector<OpDef> scan_ops() {
  OpDef op;
  op.name = "scan";
  op.min_inputs = 1;
  op.max_inputs = OpDef::any;
  op.max_outputs = OpDef::any;
  op.regions = 1;
  op.operands = {any_operand("input")};
  op.attributes = {required_attribute("num_scan_inputs", AttributeKind::integer, between(1, 1 << 20)),
                   optional_attribute("scan_input_axes", AttributeKind::integers, axis_range()),
                   optional_attribute("scan_input_directions", AttributeKind::integers, yes_or_no()),
                   optional_attribute("scan_output_axes", AttributeKind::integers, axis_range()),
                   optional_attribute("scan_output_directions", AttributeKind::integers, yes_or_no())};
  op.infer = infer_scan;
  op.reference = run_scan;
  op.traits = of_pattern(Pattern::region);
  return {op};
}

} // namespace lanner::ops
