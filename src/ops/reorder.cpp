#include "ops/table.h"

namespace lanner::ops {

// A reorder's value is its input's; only the storage of its output differs, and storage is no concern of the
// reference.
std::vector<OpDef> reorder_ops() {
  OpDef op;
  op.name = "reorder";
  op.min_inputs = op.max_inputs = 1;
  op.elementwise = true;
  op.view = true;
  op.infer = [](InferContext& context) {
    context.set_output(0, context.input(0));
    context.set_known(0, context.known(0));
  };
  op.reference = [](KernelContext& context) { copy_tensor(context.input(0), context.output(0)); };
  return {op};
}

} // namespace lanner::ops
