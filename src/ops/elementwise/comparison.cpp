// Comparisons with broadcasting, and predicates of floats.

#include <cmath>
#include <functional>

#include "ops/elementwise/formula_op.h"
#include "ops/formulas/arithmetic.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

using EqualTypes = decltype(join(ComputeTypes{}, Types<bool, std::string>{}));

static std::optional<Dim> decided(bool value) {
  return Dim(value ? 1 : 0);
}

/// a < b, or nothing where it depends on the sizes in the expressions.
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

static KnownBinary rule_of(std::string_view name) {
  if (name == "equal") return known_equal;
  if (name == "less") return known_less;
  if (name == "greater") return [](const Dim& a, const Dim& b) { return known_less(b, a); };
  if (name == "less_or_equal") return [](const Dim& a, const Dim& b) { return inverted(known_less(b, a)); };
  return [](const Dim& a, const Dim& b) { return inverted(known_less(a, b)); };
}

/// Strings support equality only.
template<typename Row, typename T>
static auto comparing() {
  if constexpr (std::is_same_v<T, std::string>)
    return std::equal_to<>{};
  else
    return FormulaFunction<Row, T, bool>{};
}

template<typename Row, typename AllowedTypes>
static void compare(KernelContext& context, AllowedTypes types) {
  const DType type = kernel_dtype(context.input(0).dtype());
  const Tensor a = to_dtype(context.input(0), type), b = to_dtype(context.input(1), type);
  visit_dtype(type, types, [&]<typename T>(Tag<T>) {
    combine_elements<T, T, bool>(a, b, context.output(0), comparing<Row, T>());
  });
}

template<typename Row, typename AllowedTypes>
static OpDef comparison(std::string_view name, AllowedTypes types) {
  OpDef op = elementwise_op(std::string(name), 2);
  op.traits = stepwise();
  const bool equality = std::is_same_v<AllowedTypes, EqualTypes>;
  op.operands = same_types(equality ? dtypes::numbers | dtypes::booleans | dtypes::strings : dtypes::numbers,
                           {"x", "y"});
  op.infer = [rule = rule_of(name)](InferContext& context) {
    common_dtype(context);
    const Type type = broadcast_type(context, DType::boolean);
    context.set_output(0, type);
    propagate_binary(context, type, rule);
  };
  op.reference = [types](KernelContext& context) { compare<Row>(context, types); };
  return op;
}

template<typename... Rows>
static std::vector<OpDef> comparisons(const formulas::List<Rows...>& rows) {
  std::vector<OpDef> ops;
  ((ops.push_back(comparison<Rows>(rows.texts[ops.size()].name, ComputeTypes{}))), ...);
  return ops;
}

template<typename Prepare>
static OpDef float_predicate(std::string name, std::vector<AttributeSpec> attributes, Prepare prepare) {
  OpDef op = elementwise_op(std::move(name), 1);
  op.operands = {{"x", dtypes::all_floats}};
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
                         {flag_attribute("detect_negative", true), flag_attribute("detect_positive", true)},
                         [](const AttributeMap& attributes) {
                           return [negative = attributes.flag("detect_negative", true),
                                   positive = attributes.flag("detect_positive", true)](auto x) {
                             return std::isinf(x) && (x < 0 ? negative : positive);
                           };
                         });
}

std::vector<OpDef> comparison_ops() {
  std::vector<OpDef> ops = comparisons(formulas::comparison_list);
  ops.push_back(comparison<decltype(formulas::equal)>(formulas::equal.text.name, EqualTypes{}));
  ops.push_back(float_predicate("is_nan", {}, [](const AttributeMap&) {
    return []<typename T>(T x) { return FormulaFunction<decltype(formulas::is_nan), T, bool>{}(x); };
  }));
  ops.push_back(is_inf_op());
  return ops;
}

} // namespace lanner::ops
