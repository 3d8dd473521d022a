// reduce_sum with the elementwise node before and after it becomes the reduction that computes the same in
// one pass over its input: sums of magnitudes and of squares, their roots, logarithms of sums.

#include <algorithm>

#include "ops/table/arguments.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

/// Whether no kept axis lies between reduced ones: kernels of the other reductions ask for that.
bool reduces_adjacent(const Node& node) {
  const Type& type = node.input(0)->type;
  if (!type.ranked() || !is_float(type.dtype())) return false;
  if (!node.input(1)) return !node.attributes.flag("noop_with_empty_axes");
  const auto given = constant_integers(node.input(1));
  if (!given || given->empty()) return false;
  const auto axes = ops::resolve_axes(*given, type.rank());
  const auto [first, last] = std::ranges::minmax(axes);
  for (std::size_t d = first; d < last; ++d)
    if (!(type.dims()[d] == Dim(1)) && std::ranges::find(axes, d) == axes.end()) return false;
  return true;
}

/// x * x or x to the power of 2, with no other use.
Value* squared(const Value* value) {
  if (const Node* product = sole_producer(value, "mul"))
    return product->input(0) == product->input(1) ? product->input(0) : nullptr;
  const Node* power = sole_producer(value, "pow");
  return power && constant_scalar(power->input(1)) == 2.0 ? power->input(0) : nullptr;
}

Value* argument(const Value* value, std::string_view kind) {
  const Node* function = sole_producer(value, kind);
  return function ? function->input(0) : nullptr;
}

/// Replaces `last` by `kind` of `x` along the axes of `reduction`.
bool reduce(Node& last, const Node& reduction, std::string_view kind, Value* x) {
  if (!(x->type == reduction.input(0)->type)) return false;
  std::vector<Value*> inputs(reduction.own_inputs().begin(), reduction.own_inputs().end());
  const Node* before = inputs[0] == x ? nullptr : inputs[0]->producer();
  inputs[0] = x;
  Value* result = emit_before(last, kind, inputs, reduction.attributes, last.output()->type);
  result->producer()->sources.clear();
  if (before) take_sources(*result->producer(), *before);
  take_sources(*result->producer(), reduction);
  take_sources(*result->producer(), last);
  replace(last, result);
  return true;
}

bool recognise_sum(Node& node) {
  if (!reduces_adjacent(node)) return false;
  if (Value* x = argument(node.input(0), "abs")) return reduce(node, node, "reduce_l1", x);
  if (Value* x = squared(node.input(0))) return reduce(node, node, "reduce_sum_square", x);
  return false;
}

bool recognise_root(Node& node) {
  const Node* squares = sole_producer(node.input(0), "reduce_sum_square");
  return squares && is_float(node.output()->type.dtype()) &&
         reduce(node, *squares, "reduce_l2", squares->input(0));
}

bool recognise_logarithm(Node& node) {
  const Node* sum = sole_producer(node.input(0), "reduce_sum");
  if (!sum || !reduces_adjacent(*sum)) return false;
  if (Value* x = argument(sum->input(0), "exp")) return reduce(node, *sum, "reduce_log_sum_exp", x);
  return reduce(node, *sum, "reduce_log_sum", sum->input(0));
}

} // namespace

bool recognise_reductions(Graph& graph) {
  return for_each_node(graph, [](Node& node) {
    if (node.kind() == "reduce_sum") return recognise_sum(node);
    if (node.kind() == "sqrt") return recognise_root(node);
    return node.kind() == "log" && recognise_logarithm(node);
  });
}

} // namespace lanner::passes
