// reduce_log_sum and reduce_log_sum_exp become sums and elementwise nodes, where there are kernels for those
// alone.

#include <optional>
#include <vector>

#include "ops/table/arguments.h"
#include "passes/passes.h"
#include "passes/rewriting/reshape_target.h"
#include "passes/rewriting/rewrite.h"
#include "tensor/largest_finite.h"

namespace lanner::passes {

namespace {

Value* reduced(Node& node, std::string_view kind, Value* x, bool keep, const Type& type) {
  std::vector<Value*> inputs(node.own_inputs().begin(), node.own_inputs().end());
  inputs[0] = x;
  AttributeMap attributes = node.attributes;
  attributes.set("keepdims", std::int64_t{keep});
  return emit_before(node, kind, inputs, std::move(attributes), type);
}

Value* number(Node& node, double value, DType type) {
  Tensor scalar = Tensor::allocate(type, {});
  copy_tensor(Tensor::scalar<double>(value), scalar);
  return node.region()->graph().constant(scalar, "bound", &node);
}

/// The type of the node's first input with the reduced dims kept as 1.
std::optional<Type> kept_type(const Node& node) {
  const Type& type = node.input(0)->type;
  const auto given = node.input(1) ? constant_integers(node.input(1)) : std::vector<std::int64_t>{};
  if (!type.ranked() || !given) return std::nullopt;
  if (given->empty() && node.attributes.flag("noop_with_empty_axes")) return std::nullopt;
  Dims dims = type.dims();
  if (given->empty()) dims.assign(dims.size(), Dim(1));
  for (const std::size_t axis : ops::resolve_axes(*given, dims.size())) dims[axis] = Dim(1);
  return type.with_dims(std::move(dims));
}

/// The logarithm of the sum of e^(x - most), plus most: the largest x of each sum, in the finite range, so
/// that infinite x have their powers.
bool decompose_exponential(Node& node) {
  const Type &from = node.input(0)->type, &to = node.output()->type;
  const auto kept = kept_type(node);
  if (!kept || !to.ranked()) return false;
  const bool keep = node.attributes.flag("keepdims", true);
  const auto target = reshape_target(*kept, to);
  if (!keep && !target) return false;
  const DType type = from.dtype();
  const double bound = largest_finite(type);
  const auto emit = [&](std::string_view kind, std::initializer_list<Value*> inputs, const Type& result) {
    return emit_before(node, kind, std::vector<Value*>(inputs), {}, result);
  };
  Value* most = reduced(node, "reduce_max", node.input(0), true, *kept);
  most = emit("clip", {most, number(node, -bound, type), number(node, bound, type)}, *kept);
  Value* power = emit("exp", {emit("sub", {node.input(0), most}, from)}, from);
  Value* log = emit("log", {reduced(node, "reduce_sum", power, keep, to)}, to);
  if (!keep) most = emit_reshape(node, most, *target, to);
  replace(node, emit("add", {log, most}, to));
  return true;
}

bool decompose_logarithm(Node& node) {
  Value* sum =
      reduced(node, "reduce_sum", node.input(0), node.attributes.flag("keepdims", true), node.output()->type);
  replace(node, emit_before(node, "log", std::vector<Value*>{sum}, {}, node.output()->type));
  return true;
}

} // namespace

bool decompose_reductions(Graph& graph) {
  return for_each_node(graph, [](Node& node) {
    const bool sum = node.kind() == "reduce_log_sum", exponential = node.kind() == "reduce_log_sum_exp";
    if (!(sum || exponential) || !is_float(node.output()->type.dtype()))
      return false; // Sequences have no dtype.
    return sum ? decompose_logarithm(node) : decompose_exponential(node);
  });
}

} // namespace lanner::passes
