#include <algorithm>

#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_trilu(InferContext& context) {
  const Type& input = context.input(0);
  check(!input.ranked() || input.rank() >= 2, ErrorCode::invalid_argument,
        "trilu: input is {}, expected rank 2 or more", input.to_string());
  context.set_output(0, input);
}

static void run_trilu(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  clear_elements(out);
  if (out.elements() == 0) return;
  const std::int64_t rows = input.shape()[input.rank() - 2], columns = input.shape().back();
  const bool upper = context.attributes().flag("upper", true);
  // A diagonal outside the matrix keeps all of it or nothing, at any distance.
  std::int64_t k = context.has(1) ? read_integer(context.input(1), "k") : 0;
  k = std::clamp(k, -rows, columns);
  const RunCopy copy_run(input.dtype());
  for (std::int64_t row = 0; row < input.elements() / columns; ++row) {
    const std::int64_t diagonal = std::clamp<std::int64_t>(row % rows + k + (upper ? 0 : 1), 0, columns);
    const std::int64_t begin = upper ? diagonal : 0, end = upper ? columns : diagonal;
    copy_run(out.data(), row * columns + begin, input.data(), row * columns + begin, end - begin);
  }
}

std::vector<OpDef> trilu_ops() {
  OpDef op;
  op.name = "trilu";
  op.min_inputs = 1;
  op.max_inputs = 2;
  op.operands = {{"x", dtypes::any, 0, "... _ _"}, one_element("k", dtypes::counts)};
  op.attributes = {flag_attribute("upper", true)};
  op.infer = infer_trilu;
  op.reference = run_trilu;
  op.traits = movement();
  return {op};
}

} // namespace lanner::ops
