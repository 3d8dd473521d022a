// Activation functions: ops/formulas/activations.h. Here is what is particular about some.

#include "base/check.h"
#include "ops/formula_op.h"
#include "ops/formulas/activations.h"
#include "ops/table.h"

namespace lanner::ops {

static void choose_gelu(OpDef& gelu) {
  gelu.attributes = {string_attribute("approximate", "none")};
  const auto other = formula_op(formulas::gelu_by_tanh).reference;
  gelu.reference = [by_erf = gelu.reference, other](KernelContext& context) {
    const std::string approximate = context.attributes().string("approximate", "none");
    check(approximate == "none" || approximate == "tanh", ErrorCode::invalid_argument,
          "gelu: approximate is \"{}\", expected \"none\" or \"tanh\"", approximate);
    (approximate == "tanh" ? other : by_erf)(context);
  };
}

// The slope spreads over x, not x over the slope.
static void infer_prelu(InferContext& context) {
  common_dtype(context);
  const Type &x = context.input(0), &slope = context.input(1);
  if (x.ranked() && slope.ranked()) {
    const std::size_t rank = slope.rank();
    bool fits = rank <= x.rank();
    for (std::size_t i = 0; fits && i < rank; ++i) {
      const Dim &size = slope.dims()[i], &wide = x.dims()[x.rank() - rank + i];
      fits = !size.is_constant() || size.constant() == 1 || !wide.is_constant() || size == wide;
    }
    check(fits, ErrorCode::invalid_argument, "the slope {} does not spread over the input {}",
          slope.to_string(), x.to_string());
  }
  infer_same(context);
}

static void infer_swi_glu(InferContext& context) {
  common_dtype(context);
  infer_same_float(context);
}

std::vector<OpDef> activation_ops() {
  std::vector<OpDef> ops = formula_ops(formulas::activation_list);
  choose_gelu(named(ops, "gelu"));
  named(ops, "prelu").infer = infer_prelu;
  named(ops, "swi_glu").infer = infer_swi_glu;
  return ops;
}

} // namespace lanner::ops
