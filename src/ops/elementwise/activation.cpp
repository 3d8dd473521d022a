// Special cases of activation functions; the functions are in ops/formulas/activations.h.

#include "base/check.h"
#include "ops/elementwise/formula_op.h"
#include "ops/formulas/activations.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void choose_gelu(OpDef& gelu) {
  gelu.attributes = {string_attribute("approximate", "none", one_of({"none", "tanh"}))};
  const auto other = formula_op(formulas::gelu_by_tanh).reference;
  gelu.reference = [by_erf = gelu.reference, other](KernelContext& context) {
    const std::string approximate = context.attributes().string("approximate", "none");
    check(approximate == "none" || approximate == "tanh", ErrorCode::invalid_argument,
          "gelu: approximate is \"{}\", expected \"none\" or \"tanh\"", approximate);
    (approximate == "tanh" ? other : by_erf)(context);
  };
}

// The slope broadcasts to x, not x to the slope.
static void infer_prelu(InferContext& context) {
  const Type& x = context.input(0);
  if (x.ranked()) require_spreads(context, 1, x.dims(), "the slope");
  infer_same(context);
}

// Neither operand broadcasts to the other.
static void infer_swi_glu(InferContext& context) {
  const Type &a = context.input(0), &b = context.input(1);
  if (a.ranked() && b.ranked()) {
    bool same = a.rank() == b.rank();
    for (std::size_t d = 0; same && d < a.rank(); ++d)
      same = !a.dims()[d].is_constant() || !b.dims()[d].is_constant() || a.dims()[d] == b.dims()[d];
    check(same, ErrorCode::invalid_argument, "the operands are {} and {}, expected equal shapes",
          a.to_string(), b.to_string());
  }
  infer_same(context);
}

std::vector<OpDef> activation_ops() {
  std::vector<OpDef> ops = formula_ops(formulas::activation_list);
  choose_gelu(named(ops, "gelu"));
  named(ops, "prelu").infer = infer_prelu;
  named(ops, "swi_glu").infer = infer_swi_glu;
  for (const std::string_view name : {"shrink", "thresholded_relu"}) named(ops, name).traits = stepwise();
  named(ops, "hard_sigmoid").traits = elementwise_within(0, 1);

  return ops;
}

} // namespace lanner::ops
