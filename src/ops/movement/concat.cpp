#include <algorithm>

#include "base/check.h"
#include "ops/definition/known_moves.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// One of two sizes that must be equal, a constant if either is.
static Dim same_size(const Dim& a, const Dim& b, std::size_t input, std::size_t axis) {
  if (a.is_constant() && b.is_constant())
    check(a.value() == b.value(), ErrorCode::invalid_argument,
          "concat: input {} has size {} along axis {}, expected {}", input, b.value(), axis, a.value());
  return a.is_constant() ? a : b;
}

static void infer_concat(InferContext& context) {
  const DType dtype = common_dtype(context);
  const Type* ranked = nullptr;
  bool complete = true;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (!context.input(i).ranked())
      complete = false;
    else if (!ranked)
      ranked = &context.input(i);
  }
  if (!ranked) return context.set_output(0, Type::unranked(dtype));
  const std::size_t axis = resolve_axis(context.attributes().get<std::int64_t>("axis"), ranked->rank());
  Dims dims = ranked->dims();
  Dim total;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    const Type& input = context.input(i);
    if (!input.ranked()) continue;
    require_rank(context, i, ranked->rank());
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (d != axis) dims[d] = same_size(dims[d], input.dims()[d], i, d);
    total = total + input.dims()[axis];
  }
  dims[axis] = complete ? total : context.fresh("concat", Dim(INT64_MAX));
  const Type type(dtype, std::move(dims));
  context.set_output(0, type);
  set_known_moved(context, type, context.inputs());
}

static void run_concat(KernelContext& context) {
  Tensor& out = context.output(0);
  const std::size_t axis = resolve_axis(context.attributes().get<std::int64_t>("axis"), out.rank());
  Walk target = dense_walk(out.shape());
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    const Tensor& input = context.input(i);
    copy_strided(input.shape(), input, dense_walk(input.shape()), out, target);
    target.offset += input.shape()[axis] * target.strides[axis];
  }
}

/// Parts of all operands, unless axis 0 is the joined one.
static bool splits_other_axis(const Split& split) {
  return std::ranges::all_of(split.parts, [](bool parts) { return parts; }) &&
         !is_first_axis(split.node.attributes.integer("axis", 0), *split.node.output());
}

std::vector<OpDef> concat_ops() {
  OpDef op;
  op.name = "concat";
  op.min_inputs = 1;
  op.max_inputs = OpDef::any;
  op.operands = {{"input", dtypes::any, 'T'}};
  op.attributes = {required_attribute("axis", AttributeKind::integer, axis_range())};
  op.infer = infer_concat;
  op.reference = run_concat;
  op.traits = movement();
  op.traits.split = splits_other_axis;
  return {op};
}

} // namespace lanner::ops
