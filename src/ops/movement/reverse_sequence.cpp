#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_reverse_sequence(InferContext& context) {
  const Type& input = context.input(0);
  check(!input.ranked() || input.rank() >= 2, ErrorCode::invalid_argument,
        "reverse_sequence: input is {}, expected rank 2 or more", input.to_string());
  const std::int64_t time_axis = context.attributes().integer("time_axis", 0);
  const std::int64_t batch_axis = context.attributes().integer("batch_axis", 1);
  check(time_axis != batch_axis, ErrorCode::invalid_argument,
        "reverse_sequence: time_axis {} and batch_axis {}, expected 0 and 1 or 1 and 0", time_axis,
        batch_axis);
  context.set_output(0, input);
}

static void run_reverse_sequence(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  const std::int64_t time_axis = context.attributes().integer("time_axis", 0);
  const std::int64_t batch_axis = context.attributes().integer("batch_axis", 1);
  const Shape& shape = input.shape();
  const std::int64_t steps = shape[static_cast<std::size_t>(time_axis)];
  const std::int64_t batches = shape[static_cast<std::size_t>(batch_axis)];
  const std::vector<std::int64_t> lengths = read_integers(context.input(1), "sequence_lens");
  check(static_cast<std::int64_t>(lengths.size()) == batches, ErrorCode::invalid_argument,
        "reverse_sequence: {} lengths for a batch of {}", lengths.size(), batches);
  const std::vector<std::int64_t> strides = dense_strides(shape);
  const std::int64_t run = strides[1];
  const std::int64_t time_stride = strides[static_cast<std::size_t>(time_axis)];
  const std::int64_t batch_stride = strides[static_cast<std::size_t>(batch_axis)];
  const RunCopy copy_run(input.dtype());
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    check(length >= 0 && length <= steps, ErrorCode::invalid_argument,
          "reverse_sequence: length {} of sequence {}, expected 0 to {}", length, b, steps);
    if (out.elements() == 0) continue; // There may be any number of steps.
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t from = t < length ? length - 1 - t : t;
      copy_run(out.data(), b * batch_stride + t * time_stride, input.data(),
               b * batch_stride + from * time_stride, run);
    }
  }
}

std::vector<OpDef> reverse_sequence_ops() {
  OpDef op;
  op.name = "reverse_sequence";
  op.min_inputs = op.max_inputs = 2;
  op.operands = {{"x", dtypes::any, 0, "_ _ ..."}, {"sequence_lens", dtypes::counts, 0, "_"}};
  op.attributes = {integer_attribute("batch_axis", 1, between(0, 1)),
                   integer_attribute("time_axis", 0, between(0, 1))};
  op.infer = infer_reverse_sequence;
  op.reference = run_reverse_sequence;
  op.traits = movement();
  return {op};
}

} // namespace lanner::ops
