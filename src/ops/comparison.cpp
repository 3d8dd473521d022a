// Comparisons with broadcasting, and predicates of floats.

#include <cmath>
#include <functional>

#include "ops/arguments.h"
#include "ops/elementwise.h"
#include "ops/table.h"

namespace lanner::ops {

using EqualTypes = decltype(join(ComputeTypes{}, Types<bool, std::string>{}));

static std::optional<Dim> decided(bool value) {
  return Dim(value ? 1 : 0);
}

/// a < b, or nothing where the sizes in the expressions decide.
static std::optional<Dim> known_less(const Dim& a, const Dim& b) {
  const SymbolInfo difference = (a - b).bounds({});
  if (difference.max < 0) return decided(true);
  if (difference.min >= 0) return decided(false);
  return std::nullopt;
}

static std::optional<Dim> known_equal(const Dim& a, const Dim& b) {
  const SymbolInfo difference = (a - b).bounds({});
  if (difference.min == 0 && difference.max == 0) return decided(true);
  if (difference.min > 0 || difference.max < 0) return decided(false);
  return std::nullopt;
}

static std::optional<Dim> inverted(const std::optional<Dim>& truth) {
  if (!truth) return std::nullopt;
  return Dim(1) - *truth;
}

template<typename AllowedTypes, typename Function>
static OpDef comparison(std::string name, AllowedTypes types, KnownBinary rule, Function function) {
  OpDef op = elementwise_op(std::move(name), 2);
  op.infer = [rule = std::move(rule)](InferContext& context) {
    common_dtype(context);
    const Type type = broadcast_type(context, DType::boolean);
    context.set_output(0, type);
    propagate_binary(context, type, rule);
  };
  op.reference = [types, function](KernelContext& context) {
    const DType type = kernel_dtype(context.input(0).dtype());
    const Tensor a = to_dtype(context.input(0), type), b = to_dtype(context.input(1), type);
    visit_dtype(type, types,
                [&]<typename T>(Tag<T>) { combine_elements<T, T, bool>(a, b, context.output(0), function); });
  };
  return op;
}

template<typename Prepare>
static OpDef float_predicate(std::string name, std::vector<AttributeSpec> attributes, Prepare prepare) {
  OpDef op = elementwise_op(std::move(name), 1);
  op.attributes = std::move(attributes);
  op.infer = [](InferContext& context) {
    context.set_output(0, context.input(0).with_dtype(DType::boolean));
  };
  op.reference = [prepare](KernelContext& context) {
    const DType type = kernel_dtype(context.input(0).dtype());
    const Tensor x = to_dtype(context.input(0), type);
    const auto predicate = prepare(context.attributes());
    visit_dtype(type, Types<float, double>{},
                [&]<typename T>(Tag<T>) { map_elements<T, bool>(x, context.output(0), predicate); });
  };
  return op;
}

static OpDef is_inf_op() {
  return float_predicate("is_inf",
                         {integer_attribute("detect_negative", 1), integer_attribute("detect_positive", 1)},
                         [](const AttributeMap& attributes) {
                           return [negative = attributes.flag("detect_negative", true),
                                   positive = attributes.flag("detect_positive", true)](auto x) {
                             return std::isinf(x) && (x < 0 ? negative : positive);
                           };
                         });
}

std::vector<OpDef> comparison_ops() {
  const auto greater = [](const Dim& a, const Dim& b) { return known_less(b, a); };
  const auto greater_or_equal = [](const Dim& a, const Dim& b) { return inverted(known_less(a, b)); };
  const auto less_or_equal = [](const Dim& a, const Dim& b) { return inverted(known_less(b, a)); };
  const ComputeTypes numbers;
  return {
      comparison("equal", EqualTypes{}, known_equal, std::equal_to<>{}),
      comparison("less", numbers, known_less, std::less<>{}),
      comparison("greater", numbers, greater, std::greater<>{}),
      comparison("less_or_equal", numbers, less_or_equal, std::less_equal<>{}),
      comparison("greater_or_equal", numbers, greater_or_equal, std::greater_equal<>{}),
      float_predicate("is_nan", {}, [](const AttributeMap&) { return [](auto x) { return std::isnan(x); }; }),
      is_inf_op(),
  };
}

} // namespace lanner::ops
