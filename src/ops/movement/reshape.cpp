// Operators whose output holds the input's elements in the same order: identity, reshape, flatten, squeeze,
// unsqueeze.

#include <algorithm>

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/definition/known_axes.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void run_view(KernelContext& context) {
  copy_elements(context.input(0), context.output(0));
}

static void set_view(InferContext& context, Dims dims) {
  const Type type = context.input(0).with_dims(std::move(dims));
  if (context.input(0).is_static() && type.is_static())
    check(context.input(0).shape().elements() == type.shape().elements(), ErrorCode::invalid_argument,
          "{}: {} cannot hold the elements of {}", context.node().kind(), type.to_string(),
          context.input(0).to_string());
  context.set_output(0, type);
  set_known_view(context, 0, type);
}

static void set_unranked(InferContext& context) {
  context.set_output(0, Type::unranked(context.input(0).dtype()));
}

/// The value of a dim of -1: the input's elements divided by the other dims. Dims that are copied from the
/// input (`copied`) are left out on both sides, so that it is defined for an input without elements too.
static Dim remaining_dim(const Dims& input, const std::vector<bool>& copied, const Dims& others) {
  Dim left(1);
  for (std::size_t i = 0; i < input.size(); ++i)
    if (i >= copied.size() || !copied[i]) left = left * input[i];
  const Dim divisor = product(others);
  check(!(divisor == Dim(0)), ErrorCode::invalid_argument,
        "reshape: -1 together with a dim of 0 is undefined");
  if (left.is_constant() && divisor.is_constant())
    check(left.value() % divisor.value() == 0, ErrorCode::invalid_argument,
          "reshape: {} elements are not divisible by the product {} of the other dims", left.value(),
          divisor.value());
  return floor_div(left, divisor);
}

static void infer_reshape_to(InferContext& context, const Dims& wanted) {
  check_rank(wanted.size(), "reshape");
  const Type& input = context.input(0);
  const bool allow_zero = context.attributes().flag("allowzero");
  Dims dims, others;
  std::vector<bool> copied;
  std::optional<std::size_t> free;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool copies = wanted[i] == Dim(0) && !allow_zero;
    copied.push_back(copies);
    if (wanted[i] == Dim(-1)) {
      check(!free, ErrorCode::invalid_argument, "reshape: two dims are -1 in {}", to_string(wanted));
      free = i;
      dims.push_back(Dim(1));
    } else if (copies) {
      if (!input.ranked()) return set_unranked(context);
      check(i < input.rank(), ErrorCode::invalid_argument,
            "reshape: dim {} is copied from {}, which has no such dim", i, input.to_string());
      dims.push_back(input.dims()[i]);
    } else {
      check(!wanted[i].is_constant() || wanted[i].value() >= 0, ErrorCode::invalid_argument,
            "reshape: dim {} is {}, expected -1, 0 or a size", i, wanted[i].to_string());
      dims.push_back(wanted[i]);
      others.push_back(wanted[i]);
    }
  }
  if (!free) return set_view(context, std::move(dims));
  if (input.ranked())
    dims[*free] = remaining_dim(input.dims(), copied, others);
  else
    dims[*free] = context.fresh("reshape", Dim(INT64_MAX));
  set_view(context, std::move(dims));
}

static void infer_reshape(InferContext& context) {
  require_rank(context, 1, 1);
  if (const auto wanted = known_elements(context, 1)) return infer_reshape_to(context, *wanted);
  const auto rank = static_length(context, 1);
  if (!rank) return set_unranked(context);
  check_rank(*rank, "reshape");
  const Type& input = context.input(0);
  const Dim most = input.ranked() ? product(input.dims()) : Dim(INT64_MAX);
  Dims dims;
  for (std::size_t i = 0; i < *rank; ++i) dims.push_back(*rank == 1 ? most : context.fresh("reshape", most));
  if (*rank == 1 && !input.ranked()) dims[0] = context.fresh("reshape", most);
  context.set_output(0, input.with_dims(std::move(dims)));
}

static void infer_flatten(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) {
    const Dim most(INT64_MAX);
    return context.set_output(0,
                              input.with_dims({context.fresh("outer", most), context.fresh("inner", most)}));
  }
  const auto rank = static_cast<std::int64_t>(input.rank());
  const std::int64_t axis = context.attributes().integer("axis", 1);
  check(axis >= -rank && axis <= rank, ErrorCode::invalid_argument,
        "flatten: axis {} out of range for rank {}", axis, rank);
  const auto middle = input.dims().begin() + (axis < 0 ? axis + rank : axis);
  set_view(context, {product(Dims(input.dims().begin(), middle)), product(Dims(middle, input.dims().end()))});
}

static void infer_squeeze(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) return set_unranked(context);
  std::vector<bool> dropped(input.rank());
  if (context.has(1)) {
    const auto axes = known_axes(context, 1, input.rank());
    if (!axes) return set_unranked(context);
    for (const std::size_t axis : resolve_axes(*axes, input.rank())) {
      check(!input.dims()[axis].is_constant() || input.dims()[axis].value() == 1, ErrorCode::invalid_argument,
            "squeeze: dim {} of {} is not 1", axis, input.to_string());
      dropped[axis] = true;
    }
  } else {
    // Whether a symbol is 1 is not known before running, so the rank is unknown too.
    for (std::size_t i = 0; i < input.rank(); ++i) {
      if (!input.dims()[i].is_constant()) return set_unranked(context);
      dropped[i] = input.dims()[i].value() == 1;
    }
  }
  Dims dims;
  for (std::size_t i = 0; i < input.rank(); ++i)
    if (!dropped[i]) dims.push_back(input.dims()[i]);
  set_view(context, std::move(dims));
}

static void infer_unsqueeze(InferContext& context) {
  const Type& input = context.input(0);
  const auto axes = known_integers(context, 1);
  if (!input.ranked() || !axes) return set_unranked(context);
  const std::size_t rank = input.rank() + axes->size();
  check_rank(rank, "unsqueeze");
  std::vector<bool> inserted(rank);
  for (const std::size_t axis : resolve_axes(*axes, rank)) inserted[axis] = true;
  Dims dims;
  auto next = input.dims().begin();
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(inserted[i] ? Dim(1) : *next++);
  set_view(context, std::move(dims));
}

static void infer_identity(InferContext& context) {
  context.set_output(0, context.input(0));
  if (context.input(0).is_tensor()) context.set_known(0, context.known(0));
}

static void run_identity(KernelContext& context) {
  if (context.node().output()->type.is_tensor())
    run_view(context);
  else
    context.set_item(0, context.item(0));
}

static OpDef view_op(std::string name, int min_inputs, std::vector<OperandSpec> operands,
                     std::function<void(InferContext&)> infer) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = min_inputs;
  op.max_inputs = static_cast<int>(operands.size());
  op.operands = std::move(operands);
  op.infer = std::move(infer);
  op.reference = run_view;
  op.view = true;
  op.traits = movement();
  op.traits.split = [](const Split& split) { return !split.parts.empty() && split.parts[0]; };
  return op;
}

std::vector<OpDef> reshape_ops() {
  const OperandSpec x{"x", dtypes::any}, axes{"axes", dtypes::counts};
  OpDef identity = view_op("identity", 1, {any_operand("input")}, infer_identity);
  identity.elementwise = true;
  identity.reference = run_identity;
  OpDef reshape = view_op("reshape", 2, {x, list_of_counts("shape")}, infer_reshape);
  reshape.attributes = {flag_attribute("allowzero", false)};
  OpDef flatten = view_op("flatten", 1, {x}, infer_flatten);
  flatten.attributes = {integer_attribute("axis", 1, axis_range())};
  return {identity, reshape, flatten, view_op("squeeze", 1, {x, axes}, infer_squeeze),
          view_op("unsqueeze", 2, {x, axes}, infer_unsqueeze)};
}

} // namespace lanner::ops
