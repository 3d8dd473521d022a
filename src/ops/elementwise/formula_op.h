#pragma once
// Makes operators from their formulas: everything except special cases of their inference.

#include <algorithm>
#include <string_view>
#include <vector>

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/formula.h"
#include "ops/formulas/number.h"
#include "ops/formulas/row.h"
#include "ops/table/arguments.h"

namespace lanner::ops {

/// A row's function applied to elements of T.
template<typename Row, typename T, typename Out>
class FormulaFunction {
public:
  explicit FormulaFunction(Numbers numbers = {}) : p_(numbers.p), q_(numbers.q) {}
  Out operator()(T x) const { return (*this)(x, T{}); }
  Out operator()(T x, T y) const {
    const Real a(x), b(y);
    return formulas::element<Out>(formulas::evaluate<Row, Real>(a, b, b, p_, q_));
  }

private:
  /// Integers of a row that is defined on reals are converted to real and back.
  using Real = formulas::Number<
      std::conditional_t<Row::integers == formulas::Integers::as_reals && std::is_integral_v<T>, double, T>>;
  Real p_, q_;
};

template<typename Row>
using FormulaTypes =
    std::conditional_t<Row::integers == formulas::Integers::none, Types<float, double>, ComputeTypes>;

template<typename Row>
void run_formula(KernelContext& context, const Formula& formula) {
  const DType type = kernel_dtype(context.input(0).dtype());
  const Tensor x = to_dtype(context.input(0), type);
  const Numbers numbers = call_of(formula, context.attributes()).numbers;
  through_dtype(context.output(0), type, [&](Tensor& out) {
    visit_dtype(type, FormulaTypes<Row>{}, [&]<typename T>(Tag<T>) {
      const FormulaFunction<Row, T, T> function(numbers);
      if constexpr (Row::operands == 1)
        map_elements<T, T>(x, out, function);
      else
        combine_elements<T, T, T>(x, to_dtype(context.input(1), type), out, function);
    });
  });
}

/// For one input its type, for two the broadcast type.
template<typename Row>
void infer_formula(InferContext& context) {
  if constexpr (Row::operands == 1) {
    Row::integers == formulas::Integers::none ? infer_same_float(context) : infer_same(context);
  } else {
    const DType dtype = common_dtype(context);
    check(Row::integers != formulas::Integers::none || is_float(dtype), ErrorCode::invalid_argument,
          "{}: input is {}, expected a float type", context.node().kind(), to_string(dtype));
    context.set_output(0, broadcast_type(context, dtype));
  }
}

/// The operator defined by a row of one or two operands.
template<typename Row>
OpDef formula_op(std::string_view name) {
  static_assert(Row::operands <= 2);
  OpDef op = elementwise_op(std::string(name), Row::operands);
  op.operands =
      same_types(Row::integers == formulas::Integers::none ? dtypes::all_floats : dtypes::numbers,
                 Row::operands == 1 ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "y"});
  const Formula& own = formula(name);
  for (int i = 0; i < own.number_count; ++i) {
    const FormulaNumber& number = own.numbers[static_cast<std::size_t>(i)];
    op.attributes.push_back(real_attribute(std::string(number.attribute), number.fallback, no_nan()));
  }
  op.infer = infer_formula<Row>;
  op.reference = [&own](KernelContext& context) { run_formula<Row>(context, own); };
  return op;
}

template<typename Row>
OpDef formula_op(const Row& row) {
  return formula_op<Row>(row.text.name);
}

template<typename... Rows>
std::vector<OpDef> formula_ops(const formulas::List<Rows...>& rows) {
  std::vector<OpDef> ops;
  ((ops.push_back(formula_op<Rows>(rows.texts[ops.size()].name))), ...);
  return ops;
}

/// The one of `ops` with this name, to modify it.
inline OpDef& named(std::vector<OpDef>& ops, std::string_view name) {
  return *std::ranges::find(ops, name, &OpDef::name);
}

} // namespace lanner::ops
