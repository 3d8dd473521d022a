#include <algorithm>

#include "ops/arguments.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace lanner::ops {

/// perm[i] is the input's axis that becomes axis i; all reversed when the attribute is absent.
static std::vector<std::size_t> permutation(const AttributeMap& attributes, std::size_t rank) {
  std::vector<std::int64_t> perm = attributes.integers("perm");
  if (!attributes.has("perm"))
    for (std::size_t i = rank; i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  check(perm.size() == rank, ErrorCode::invalid_argument, "transpose: perm has {} axes for rank {}",
        perm.size(), rank);
  return resolve_axes(perm, rank, "perm");
}

static void infer_transpose(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) return context.set_output(0, input);
  Dims dims;
  for (const std::size_t axis : permutation(context.attributes(), input.rank()))
    dims.push_back(input.dims()[axis]);
  context.set_output(0, input.with_dims(std::move(dims)));
  if (input.rank() <= 1) context.set_known(0, context.known(0));
}

static void run_transpose(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  const std::vector<std::int64_t> strides = dense_strides(input.shape());
  Walk source;
  for (const std::size_t axis : permutation(context.attributes(), input.rank()))
    source.strides.push_back(strides[axis]);
  copy_strided(out.shape(), input, source, out, dense_walk(out.shape()));
}

std::vector<OpDef> transpose_ops() {
  OpDef op;
  op.name = "transpose";
  op.min_inputs = op.max_inputs = 1;
  op.attributes = {optional_attribute("perm", AttributeKind::integers)};
  op.infer = infer_transpose;
  op.reference = run_transpose;
  return {op};
}

} // namespace lanner::ops
