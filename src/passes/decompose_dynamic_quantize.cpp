// dynamic_quantize_linear becomes its formula: the range, scale and zero point by reductions of the values,
// and a quantize_linear. Where a value is NaN, so is the scale, which the operator leaves open.

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {
namespace {

/// Emits operators on single numbers.
class Numbers {
public:
  explicit Numbers(Node& before) : before_(before) {}

  Value* operator()(std::string_view kind, const std::vector<Value*>& inputs, DType type = DType::f32) {
    return emit_before(before_, kind, inputs, {}, Type(type, Dims{}));
  }
  Value* number(float value) {
    return before_.region()->graph().constant(Tensor::scalar(value), "number", &before_);
  }
  /// The least or largest of all elements.
  Value* extreme(std::string_view kind, Value* x) {
    AttributeMap attributes;
    attributes.set("keepdims", std::int64_t{0});
    return emit_before(before_, kind, std::vector<Value*>{x}, std::move(attributes),
                       Type(DType::f32, Dims{}));
  }
  /// `x`, or 1 where it is 0.
  Value* nonzero(Value* x, Value* where_zero) {
    Value* is_zero = (*this)("equal", {where_zero, number(0)}, DType::boolean);
    return (*this)("where", {is_zero, number(1), x});
  }

private:
  Node& before_;
};

bool decompose(Node& node) {
  if (node.kind() != "dynamic_quantize_linear") return false;
  Value* const x = node.input(0);
  // An empty tensor has no least element.
  if (!x->type.is_static() || x->type.shape().elements() == 0) return false;
  Numbers emit(node);
  Value* const least = emit("min", {emit.extreme("reduce_min", x), emit.number(0)});
  Value* const most = emit("max", {emit.extreme("reduce_max", x), emit.number(0)});
  Value* const range = emit("sub", {most, least});
  Value* const scale = emit.nonzero(emit("div", {range, emit.number(255)}), range);
  Value* const divisor = emit.nonzero(scale, scale); // the quotient of a tiny range may be 0
  Value* const zero = emit("quantize_linear", {emit("neg", {least}), divisor}, DType::u8);
  Value* const y =
      emit_before(node, "quantize_linear", std::vector<Value*>{x, divisor, zero}, {}, node.output(0)->type);
  const std::vector<Value*> results{y, scale, zero};
  replace_by_copies(node, results);
  return true;
}

} // namespace

bool decompose_dynamic_quantize(Graph& graph) {
  return for_each_node(graph, decompose);
}

} // namespace lanner::passes
