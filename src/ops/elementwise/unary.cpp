// Mathematical functions of one operand on known integers; the functions are in ops/formulas/functions.h.

#include "ops/elementwise/formula_op.h"
#include "ops/formulas/functions.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static std::optional<Dim> known_abs(const Dim& x) {
  if (surely_nonnegative(x)) return x;
  if (x.is_constant() && x.value() != INT64_MIN) return Dim(-x.value());
  return std::nullopt;
}

static std::optional<Dim> known_negative(const Dim& x) {
  return Dim(0) - x;
}

static std::optional<Dim> known_sign(const Dim& x) {
  if (!x.is_constant()) return std::nullopt;
  return Dim((x.value() > 0) - (x.value() < 0));
}

template<auto rule>
static void infer_known(InferContext& context) {
  infer_same(context);
  propagate_unary(context, context.input(0), rule);
}

std::vector<OpDef> unary_ops() {
  std::vector<OpDef> ops = formula_ops(formulas::function_list);
  named(ops, "abs").infer = infer_known<known_abs>;
  named(ops, "neg").infer = infer_known<known_negative>;
  named(ops, "sign").infer = infer_known<known_sign>;
  for (const std::string_view name : {"ceil", "floor", "round", "sign"}) named(ops, name).traits = stepwise();
  for (const std::string_view name : {"sigmoid"}) named(ops, name).traits = elementwise_within(0, 1);
  for (const std::string_view name : {"cos", "erf", "sin", "softsign", "tanh"})
    named(ops, name).traits = elementwise_within(-1, 1);
  return ops;
}

} // namespace lanner::ops
