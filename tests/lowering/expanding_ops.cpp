#include "lowering/expanding_ops.h"

#include "ops/table/table.h"

namespace lanner::test {
namespace {

/// Emits a node before the one that is expanded.
Value* emit(ExpandContext& context, std::string_view op, const std::vector<Value*>& inputs) {
  return context.graph.emit(op, inputs, {}, inputs.front()->type, op, &context.node);
}

OpDef expanding_op(std::string name, int inputs, void (*expand)(ExpandContext&)) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = op.max_inputs = inputs;
  op.infer = [](InferContext& context) { context.set_output(0, context.input(0)); };
  op.expand = expand;
  return op;
}

void expand_doubled(ExpandContext& context) {
  Value* two = context.graph.constant(Tensor::scalar(2.f), "two", &context.node);
  context.results = {emit(context, "mul", {context.node.input(0), two})};
}

void expand_shifted(ExpandContext& context) {
  Value* doubled = emit(context, "test.doubled", {context.node.input(0)});
  Value* positive = emit(context, "relu", {doubled});
  context.results = {emit(context, "add", {positive, context.node.input(1)})};
}

OpTable make_table() {
  OpTable table = builtin_op_table();
  table.add(expanding_op("test.doubled", 1, expand_doubled));
  table.add(expanding_op("test.shifted", 2, expand_shifted));
  return table;
}

} // namespace

const OpTable& expanding_op_table() {
  static const OpTable table = make_table();
  return table;
}

} // namespace lanner::test
