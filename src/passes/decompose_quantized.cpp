// q_linear_conv and q_linear_matmul become dequantize_linear, conv or matmul, and quantize_linear, the form
// of quantised networks (docs/decisions/052-int8.md); matmul_integer and conv_integer likewise where their
// sums are made real.

#include <algorithm>
#include <optional>

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/constant_math.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {
namespace {

bool has_elements(const Value* value, std::int64_t count) {
  return value->type.is_static() && value->type.shape().elements() == count;
}

bool is_byte(const Value* value) {
  return value->type.dtype() == DType::i8 || value->type.dtype() == DType::u8;
}

/// Scale and zero point of weights.
struct Parameters {
  Value *scale, *zero;
  bool single;
};

/// For `count` channels: one of each, or one for each channel, for which a single constant is repeated.
std::optional<Parameters> parameters_of(ConstantMath& math, Value* scale, Value* zero, std::int64_t count) {
  if (has_elements(scale, 1) && has_elements(zero, 1)) return Parameters{scale, zero, true};
  const auto for_each = [&](Value* value) -> Value* {
    if (has_elements(value, count)) return value->type.rank() == 1 ? value : nullptr;
    if (!has_elements(value, 1) || !value->constant()) return nullptr;
    return math.expand(math.reshape(value, {}), {count});
  };
  const Parameters spread{for_each(scale), for_each(zero), false};
  return spread.scale && spread.zero ? std::optional(spread) : std::nullopt;
}

Value* dequantized(Node& node, Value* x, Value* scale, Value* zero, std::int64_t axis) {
  std::vector<Value*> inputs{x, scale};
  if (zero) inputs.push_back(zero);
  AttributeMap attributes;
  if (!has_elements(scale, 1)) attributes.set("axis", axis);
  return emit_before(node, "dequantize_linear", inputs, std::move(attributes),
                     x->type.with_dtype(DType::f32));
}

/// The bias counts in products of the scales of data and weights.
Value* dequantized_bias(Node& node, Value* bias, Value* x_scale, Value* w_scale) {
  const bool wider = !has_elements(w_scale, 1) || w_scale->type.rank() >= x_scale->type.rank();
  Value* const scale = emit_before(node, "mul", std::vector<Value*>{x_scale, w_scale}, {},
                                   wider ? w_scale->type : x_scale->type);
  return dequantized(node, bias, scale, nullptr, 0);
}

void put(Node& node, std::string_view kind, const std::vector<Value*>& inputs, AttributeMap attributes) {
  Value* const real =
      emit_before(node, kind, inputs, std::move(attributes), node.output()->type.with_dtype(DType::f32));
  replace(node, emit_before(node, "quantize_linear", std::vector<Value*>{real, node.input(6), node.input(7)},
                            {}, node.output()->type));
}

/// Whether data and result have one scale and zero point, and all numbers have the usual types.
bool is_plain(const Node& node) {
  for (std::size_t i : {1, 2, 6, 7})
    if (!has_elements(node.input(i), 1)) return false;
  for (std::size_t i : {1, 4, 6})
    if (node.input(i)->type.dtype() != DType::f32) return false;
  return is_byte(node.input(0)) && is_byte(node.input(3)) && is_byte(node.input(7)) &&
         node.input(4)->type.is_static() && node.input(5)->type.is_static();
}

bool decompose_conv(Node& node) {
  const Type& weights = node.input(3)->type;
  if (!is_plain(node) || !weights.is_static()) return false;
  ConstantMath math(node);
  const auto w = parameters_of(math, node.input(4), node.input(5), weights.shape()[0]);
  if (!w) return false;
  std::vector<Value*> inputs{dequantized(node, node.input(0), node.input(1), node.input(2), 1),
                             dequantized(node, node.input(3), w->scale, w->zero, 0)};
  if (Value* bias = node.input(8)) inputs.push_back(dequantized_bias(node, bias, node.input(1), w->scale));
  put(node, "conv", inputs, node.attributes);
  return true;
}

bool decompose_matmul(Node& node) {
  const Type& b = node.input(3)->type;
  if (!is_plain(node) || !b.is_static() || b.rank() == 0) return false;
  ConstantMath math(node);
  const auto w = parameters_of(math, node.input(4), node.input(5), b.shape().back());
  if (!w || (!w->single && b.rank() < 2)) return false;
  put(node, "matmul",
      {dequantized(node, node.input(0), node.input(1), node.input(2), 1),
       dequantized(node, node.input(3), w->scale, w->zero, static_cast<std::int64_t>(b.rank()) - 1)},
      {});
  return true;
}

/// An operand of an integer product, and the number and axis of the zero points that it may have besides one.
struct Shifted {
  Value *x, *zero;
  std::int64_t count = -1, axis = 0;

  bool is_single() const { return !zero || has_elements(zero, 1); }
  bool fits() const {
    return is_byte(x) && (is_single() || (has_elements(zero, count) && zero->type.rank() == 1));
  }
  /// Less its zero point, as reals: dequantised with scale 1.
  Value* emit(Node& node) const {
    Tensor ones = Tensor::allocate(DType::f32, is_single() ? Shape{} : Shape{count});
    std::ranges::fill(ones.as<float>(), 1.0F);
    return dequantized(node, x, node.region()->graph().constant(ones, "one", &node), zero, axis);
  }
};

/// cast(matmul_integer(...)) and cast(conv_integer(...)): sums of f32 in place of i32, which are exact below
/// 2^24 and as good as the cast above.
bool decompose_cast(Node& node) {
  Node* const sums = node.input(0)->producer();
  if (!sums || node.output()->type.dtype() != DType::f32 || node.input(0)->uses().size() != 1) return false;
  const bool conv = sums->kind() == "conv_integer";
  if ((!conv && sums->kind() != "matmul_integer") || !sums->input(1)->type.is_static()) return false;
  const Shape shape = sums->input(1)->type.shape();
  const Shifted left{sums->input(0), sums->input(2)};
  Shifted right{sums->input(1), sums->input(3)};
  if (conv || shape.rank() > 1) {
    right.axis = conv ? 0 : static_cast<std::int64_t>(shape.rank()) - 1;
    right.count = shape[static_cast<std::size_t>(right.axis)];
  }
  if (!left.fits() || !right.fits()) return false;
  Value* const made =
      emit_before(node, conv ? "conv" : "matmul", std::vector<Value*>{left.emit(node), right.emit(node)},
                  sums->attributes, node.output()->type);
  take_sources(*made->producer(), *sums);
  replace(node, made);
  return true;
}

bool decompose(Node& node) {
  if (node.kind() == "cast") return decompose_cast(node);
  if (node.kind() == "q_linear_conv") return decompose_conv(node);
  return node.kind() == "q_linear_matmul" && decompose_matmul(node);
}

} // namespace

bool decompose_quantized(Graph& graph) {
  return for_each_node(graph, decompose);
}

} // namespace lanner::passes
