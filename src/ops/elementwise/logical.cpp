// Logical operators on booleans and bitwise operators on integers, with broadcasting.

#include <functional>

#include "base/check.h"
#include "ops/elementwise/formula_op.h"
#include "ops/formulas/arithmetic.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"

namespace lanner::ops {

static void require_dtype(const InferContext& context, bool fits, std::string_view expected) {
  check(fits, ErrorCode::invalid_argument, "{}: input is {}, expected {}", context.node().kind(),
        to_string(context.input(0).dtype()), expected);
}

template<typename Row>
static OpDef logical_op(std::string_view name) {
  OpDef op = elementwise_op(std::string(name), 2);
  op.operands = same_types(dtypes::booleans, {"x", "y"});
  op.infer = [](InferContext& context) {
    require_dtype(context, common_dtype(context) == DType::boolean, "bool");
    const Type type = broadcast_type(context, DType::boolean);
    context.set_output(0, type);
    propagate_binary(context, type, [](const Dim& a, const Dim& b) {
      return std::optional(Dim(FormulaFunction<Row, bool, bool>{}(a.value() != 0, b.value() != 0) ? 1 : 0));
    });
  };
  op.reference = [](KernelContext& context) {
    combine_elements<bool, bool, bool>(context.input(0), context.input(1), context.output(0),
                                       FormulaFunction<Row, bool, bool>{});
  };
  return op;
}

static OpDef not_op() {
  OpDef op = elementwise_op("not", 1);
  op.operands = {{"x", dtypes::booleans}};
  op.infer = [](InferContext& context) {
    require_dtype(context, context.input(0).dtype() == DType::boolean, "bool");
    infer_same(context);
    propagate_unary(context, context.input(0), [](const Dim& x) { return std::optional(Dim(1) - x); });
  };
  op.reference = [](KernelContext& context) {
    map_elements<bool, bool>(context.input(0), context.output(0),
                             FormulaFunction<decltype(formulas::logical_not), bool, bool>{});
  };
  return op;
}

template<typename... Rows>
static std::vector<OpDef> logical_list(const formulas::List<Rows...>& rows) {
  std::vector<OpDef> ops;
  ((ops.push_back(logical_op<Rows>(rows.texts[ops.size()].name))), ...);
  return ops;
}

template<typename Function>
static OpDef bitwise_op(std::string name, Function function) {
  OpDef op = elementwise_op(std::move(name), 2);
  op.operands = same_types(dtypes::integers, {"x", "y"});
  op.infer = [](InferContext& context) {
    const DType dtype = common_dtype(context);
    require_dtype(context, is_integer(dtype), "an integer type");
    context.set_output(0, broadcast_type(context, dtype));
  };
  op.reference = [function](KernelContext& context) {
    visit_dtype(context.input(0).dtype(), IntegerTypes{}, [&]<typename T>(Tag<T>) {
      combine_elements<T, T, T>(context.input(0), context.input(1), context.output(0),
                                [function](T a, T b) { return static_cast<T>(function(a, b)); });
    });
  };
  return op;
}

static OpDef bitwise_not_op() {
  OpDef op = elementwise_op("bitwise_not", 1);
  op.operands = {{"x", dtypes::integers}};
  op.infer = [](InferContext& context) {
    require_dtype(context, is_integer(context.input(0).dtype()), "an integer type");
    infer_same(context);
  };
  op.reference = [](KernelContext& context) {
    map_numbers(context, IntegerTypes{}, []<typename T>(T x) { return static_cast<T>(~x); });
  };
  return op;
}

// A shift by the width or more, or by a negative amount, leaves only copies of the sign bit (right) or zeros
// (left).
template<typename T>
static T shifted_left(T x, T amount) {
  if (amount < T{0} || static_cast<std::uint64_t>(amount) >= sizeof(T) * 8) return T{0};
  return static_cast<T>(static_cast<std::uint64_t>(x) << amount);
}

template<typename T>
static T shifted_right(T x, T amount) {
  if (amount < T{0} || static_cast<std::uint64_t>(amount) >= sizeof(T) * 8)
    return x < T{0} ? static_cast<T>(-1) : T{0};
  return static_cast<T>(x >> amount);
}

static OpDef bit_shift_op() {
  OpDef op = bitwise_op("bit_shift", std::bit_and<>{});
  op.attributes = {required_attribute("direction", AttributeKind::string, one_of({"LEFT", "RIGHT"}))};
  op.reference = [](KernelContext& context) {
    const auto& direction = context.attributes().get<std::string>("direction");
    check(direction == "LEFT" || direction == "RIGHT", ErrorCode::invalid_argument,
          "bit_shift: direction is \"{}\", expected \"LEFT\" or \"RIGHT\"", direction);
    visit_dtype(context.input(0).dtype(), IntegerTypes{}, [&]<typename T>(Tag<T>) {
      combine_elements<T, T, T>(context.input(0), context.input(1), context.output(0),
                                direction == "LEFT" ? shifted_left<T> : shifted_right<T>);
    });
  };
  return op;
}

std::vector<OpDef> logical_ops() {
  std::vector<OpDef> ops = logical_list(formulas::logic_list);
  for (OpDef& op : std::vector<OpDef>{
           not_op(), bitwise_op("bitwise_and", std::bit_and<>{}), bitwise_op("bitwise_or", std::bit_or<>{}),
           bitwise_op("bitwise_xor", std::bit_xor<>{}), bitwise_not_op(), bit_shift_op()})
    ops.push_back(std::move(op));
  return ops;
}

} // namespace lanner::ops
