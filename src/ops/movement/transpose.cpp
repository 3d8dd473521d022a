#include "ops/movement/transpose.h"
#include "ops/definition/permutation.h"
#include "ops/traits.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/check.h"
#include "ops/definition/known_moves.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"

namespace lanner::ops {

std::vector<std::size_t> transpose_order(const AttributeMap& attributes, std::size_t rank) {
  std::vector<std::size_t> order;
  if (!attributes.has("perm")) {
    for (std::size_t i = rank; i-- > 0;) order.push_back(i);
    return order;
  }
  const std::vector<std::int64_t> perm = attributes.integers("perm");
  check(perm.size() == rank, ErrorCode::invalid_argument, "transpose: perm has {} axes for rank {}",
        perm.size(), rank);
  std::vector<bool> seen(rank);
  for (const std::int64_t axis : perm) {
    const auto place = static_cast<std::size_t>(axis);
    check(axis >= 0 && place < rank && !seen[place], ErrorCode::invalid_argument,
          "transpose: perm is [{}], expected each axis from 0 to {} once", fmt::join(perm, ", "), rank - 1);
    seen[place] = true;
    order.push_back(place);
  }
  return order;
}

static void infer_transpose(InferContext& context) {
  const Type& input = context.input(0);
  const AttributeMap& attributes = context.attributes();
  if (!input.ranked()) {
    // Whatever the rank is, the list must be a permutation.
    transpose_order(attributes, attributes.integers("perm").size());
    return context.set_output(0, input);
  }
  Dims dims;
  for (const std::size_t axis : transpose_order(attributes, input.rank())) dims.push_back(input.dims()[axis]);
  const Type type = input.with_dims(std::move(dims));
  context.set_output(0, type);
  set_known_moved(context, type);
}

static void run_transpose(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  const std::vector<std::int64_t> strides = dense_strides(input.shape());
  Walk source;
  for (const std::size_t axis : transpose_order(context.attributes(), input.rank()))
    source.strides.push_back(strides[axis]);
  copy_strided(out.shape(), input, source, out, dense_walk(out.shape()));
}

/// Allowed if axis 0 stays where it is.
static bool splits_unmoved(const Split& split) {
  const auto order = permutation_of(&split.node);
  return splits_first(split) && order && !order->empty() && order->front() == 0;
}

std::vector<OpDef> transpose_ops() {
  OpDef op;
  op.name = "transpose";
  op.min_inputs = op.max_inputs = 1;
  op.operands = {{"x", dtypes::any}};
  op.attributes = {optional_attribute("perm", AttributeKind::integers, any_integer())};
  op.infer = infer_transpose;
  op.reference = run_transpose;
  op.traits = movement();
  op.traits.split = splits_unmoved;
  return {op};
}

} // namespace lanner::ops
