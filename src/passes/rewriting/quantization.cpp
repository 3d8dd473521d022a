#include "passes/rewriting/quantization.h"

#include <algorithm>

#include "graph/op.h"
#include "ops/definition/recipe.h"
#include "passes/rewriting/magnitude.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {
namespace {

bool has_one_element(const Value* value) {
  return value && value->type.is_static() && value->type.shape().elements() == 1;
}

bool is_one_map(const Node& node, const Type& real, const Type& stored) {
  return has_one_element(node.input(1)) && (!node.input(2) || has_one_element(node.input(2))) &&
         node.attributes.integer("block_size", 0) == 0 && real.dtype() == DType::f32 &&
         node.input(1)->type.dtype() == DType::f32 &&
         node.attributes.get<DType>("precision", DType::f32) == DType::f32 && is_integer(stored.dtype()) &&
         bit_width(stored.dtype()) >= 8 && bit_width(stored.dtype()) <= 16;
}

bool same_number(const Value* a, const Value* b) {
  if (a == b) return true;
  // No zero point is 0.
  if (!a || !b) return constant_scalar(a ? a : b) == 0.0;
  const Tensor *x = a->constant(), *y = b->constant();
  return x && y && constant_scalar(a) == constant_scalar(b) && x->dtype() == y->dtype();
}

} // namespace

bool quantizes(const Node* node) {
  return node && node->kind() == "quantize_linear" && node->input(0) &&
         is_one_map(*node, node->input(0)->type, node->output()->type);
}

bool dequantizes(const Node* node) {
  return node && node->kind() == "dequantize_linear" && node->input(0) &&
         is_one_map(*node, node->output()->type, node->input(0)->type);
}

bool is_dequantized_constant(const Value* value) {
  const Node* const maker = producer(value, "dequantize_linear");
  return maker &&
         std::ranges::all_of(maker->inputs(), [](const Value* input) { return !input || input->constant(); });
}

DType stored_type(const Node& node) {
  return (node.kind() == "quantize_linear" ? node.output() : node.input(0))->type.dtype();
}

bool same_quantization(const Node& a, const Node& b) {
  return stored_type(a) == stored_type(b) && same_number(a.input(1), b.input(1)) &&
         same_number(a.input(2), b.input(2));
}

void note_same_quantization(const Node& a, const Node& b) {
  for (std::size_t i : {1, 2}) {
    if (a.input(i) == b.input(i)) continue;
    for (const Value* value : {a.input(i), b.input(i)})
      if (value) note_decided(a.region()->graph(), value);
  }
}

bool keeps_order(const Node& node) {
  const auto scale = constant_scalar(node.input(1));
  return scale && *scale > 0;
}

bool keeps_numbers(const Node& node) {
  const auto scale = constant_scalar(node.input(1));
  return scale && is_moderate_factor(*scale, DType::f32) && *scale != 0;
}

Value* emit_quantization(Node& before, const Node& like, Value* x, Type type) {
  std::vector<Value*> inputs(like.inputs().begin(), like.inputs().end());
  inputs[0] = x;
  return emit_before(before, like.kind(), inputs, like.attributes, std::move(type));
}

} // namespace lanner::passes
