// Chains of adds or muls of constants become one node; a subtracted constant becomes an added one. Integers
// wrap around in any order; floats are merged where at most the last digit changes.

#include <algorithm>
#include <functional>

#include "ops/elementwise/elementwise.h"
#include "passes/passes.h"
#include "passes/rewriting/magnitude.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

// The constant operand comes second.
bool move_constant_second(Node& node) {
  if (!node.input(0)->constant() || node.input(1)->constant()) return false;
  Value* const constant = node.input(0);
  node.set_input(0, node.input(1));
  node.set_input(1, constant);
  return true;
}

bool negate(Node& node) {
  if (!node.input(1)->constant() || node.input(0)->constant() || !is_float(node.output()->type.dtype()))
    return false;
  Value* const negative =
      emit_before(node, "neg", std::vector<Value*>{node.input(1)}, {}, node.input(1)->type);
  replace(node,
          emit_before(node, "add", std::vector<Value*>{node.input(0), negative}, {}, node.output()->type));
  return true;
}

std::optional<Shape> broadcast_shape(const Value& a, const Value& b) {
  try {
    return broadcast(std::vector<Shape>{a.type.shape(), b.type.shape()});
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Two constants that broadcast against each other would make one that is larger than both.
bool may_join(const Node& node, const Tensor& a, const Tensor& b, const Shape& shape) {
  if (!a.device().is_host() || !b.device().is_host()) return false;
  if (shape.elements() != std::max(a.elements(), b.elements())) return false;
  const DType type = node.output()->type.dtype();
  if (!is_float(type)) return true;
  const auto joins = node.kind() == "mul" ? joins_as_product : joins_as_sum;
  Tensor verdicts = Tensor::allocate(DType::boolean, shape);
  ops::combine_elements<double, double, bool>(ops::to_dtype(a, DType::f64), ops::to_dtype(b, DType::f64),
                                              verdicts,
                                              [=](double x, double y) { return joins(x, y, type); });
  return std::ranges::all_of(verdicts.as<bool>(), std::identity{});
}

bool join(Node& node) {
  if (!node.input(1)->constant()) return false;
  const Node* inner = sole_producer(node.input(0), node.kind());
  if (!inner || !inner->input(1)->constant() || inner->input(0)->constant()) return false;
  const auto shape = broadcast_shape(*inner->input(1), *node.input(1));
  if (!shape || !may_join(node, *inner->input(1)->constant(), *node.input(1)->constant(), *shape))
    return false;
  const Type type(node.output()->type.dtype(), *shape);
  Value* const both =
      emit_before(node, node.kind(), std::vector<Value*>{inner->input(1), node.input(1)}, {}, type);
  both->producer()->sources.clear();
  Value* const result =
      emit_before(node, node.kind(), std::vector<Value*>{inner->input(0), both}, {}, node.output()->type);
  take_sources(*result->producer(), *inner);
  replace(node, result);
  return true;
}

bool simplify(Node& node) {
  if (node.kind() == "sub") return negate(node);
  if (node.kind() != "add" && node.kind() != "mul") return false;
  const bool moved = move_constant_second(node);
  return join(node) || moved;
}

} // namespace

bool merge_arithmetic(Graph& graph) {
  return for_each_node(graph, simplify);
}

} // namespace lanner::passes
