// gemm becomes matmul and add, the only form of products that reaches lowering (docs/decisions/006).

#include <algorithm>
#include <cmath>

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/magnitude.h"
#include "passes/rewriting/quantization.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/transposes.h"

namespace lanner::passes {

namespace {

Value* scaled(Node& gemm, Value* value, double factor) {
  if (factor == 1) return value;
  Tensor number = Tensor::allocate(value->type.dtype(), {});
  copy_tensor(Tensor::scalar(factor), number);
  Value* constant = gemm.region()->graph().constant(number, "factor", &gemm);
  return emit_before(gemm, "mul", std::vector<Value*>{value, constant}, {}, value->type);
}

// Gemm scales the sum; the constant must tolerate being scaled beforehand.
bool stands(const Value* value, double factor) {
  const auto numbers = factor == 1 ? std::nullopt : constant_reals(value);
  if (!numbers) return factor == 1;
  double largest = 0;
  for (const double number : *numbers) largest = std::max(largest, std::abs(number));
  const DType type = value->type.dtype();
  return is_moderate_factor(factor, type) && is_normal_or_zero(largest * std::abs(factor), type);
}

// Transposing or scaling a constant input is free; a run-time transpose is not, while gemm does it at no
// cost.
bool is_ready(const Value* value, bool transposed, double factor) {
  // Quantised weights: move_quantization transposes what is stored.
  if (is_dequantized_constant(value) && factor == 1) return true;
  return value->constant() ? stands(value, factor) : (!transposed && factor == 1);
}

bool decompose(Node& node) {
  if (node.kind() != "gemm" || !is_float(node.output()->type.dtype())) return false;
  Value *a = node.input(0), *b = node.input(1), *c = node.input(2);
  const double alpha = node.attributes.real("alpha", 1), beta = node.attributes.real("beta", 1);
  const bool ready = is_ready(a, node.attributes.flag("transA"), 1) &&
                     is_ready(b, node.attributes.flag("transB"), alpha) &&
                     (!c || beta == 0 || is_ready(c, false, beta));
  if (!ready || !a->type.ranked() || !b->type.ranked() || !node.output()->type.ranked()) return false;
  if (node.attributes.flag("transA")) a = emit_transpose(node, a, {1, 0});
  if (node.attributes.flag("transB")) b = emit_transpose(node, b, {1, 0});
  b = scaled(node, b, alpha);
  const Type& type = node.output()->type;
  Value* result = emit_before(node, "matmul", std::vector<Value*>{a, b}, {}, type);
  if (c && beta != 0)
    result = emit_before(node, "add", std::vector<Value*>{result, scaled(node, c, beta)}, {}, type);
  replace(node, result);
  return true;
}

} // namespace

bool decompose_gemm(Graph& graph) {
  return for_each_node(graph, decompose);
}

} // namespace lanner::passes
