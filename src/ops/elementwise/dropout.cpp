#include <algorithm>
#include <random>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/strided.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_dropout(InferContext& context) {
  infer_like(context);
  if (context.outputs() > 1) context.set_output(1, context.input(0).with_dtype(DType::boolean));
}

static double dropped_ratio(const KernelContext& context) {
  if (!context.has(2) || read_integer(context.input(2), "training_mode") == 0) return 0;
  const double ratio = context.has(1) ? read_real(context.input(1), "ratio") : 0.5;
  check(ratio >= 0 && ratio < 1, ErrorCode::invalid_argument, "ratio is {}, expected at least 0 and below 1",
        ratio);
  return ratio;
}

// The numbers of NumPy's RandomState, with which ONNX's test cases were made. The default seed is 0, so that
// runs are repeatable.
static CountedVector<bool> dropout_mask(std::int64_t count, double ratio, std::int64_t seed) {
  std::mt19937 generator(static_cast<std::uint32_t>(seed));
  CountedVector<bool> mask(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const double high = static_cast<double>(generator() >> 5), low = static_cast<double>(generator() >> 6);
    mask[i] = (high * 67108864.0 + low) / 9007199254740992.0 >= ratio;
  }
  return mask;
}

static void run_dropout(KernelContext& context) {
  const Tensor& x = context.input(0);
  const double ratio = dropped_ratio(context);
  CountedVector<bool> mask(static_cast<std::size_t>(x.elements()), true);
  if (ratio == 0) {
    copy_elements(x, context.output(0));
  } else {
    mask = dropout_mask(x.elements(), ratio, context.attributes().integer("seed", 0));
    Tensor y = Tensor::allocate(DType::f64, x.shape());
    copy_tensor(x, y);
    for (std::size_t i = 0; i < mask.size(); ++i) y.as<double>()[i] *= mask[i] ? 1 / (1 - ratio) : 0;
    copy_tensor(y, context.output(0));
  }
  if (context.outputs() > 1 && context.wanted(1))
    std::copy(mask.begin(), mask.end(), context.output(1).as<bool>().begin());
}

std::vector<OpDef> dropout_ops() {
  return {OpDef{.name = "dropout",
                .min_inputs = 1,
                .max_inputs = 3,
                .max_outputs = 2,
                .operands = {{"x", dtypes::all_floats},
                             one_element("ratio", dtypes::all_floats),
                             one_element("training_mode", dtypes::counts)},
                .attributes = {optional_attribute("seed", AttributeKind::integer, any_integer())},
                .infer = infer_dropout,
                .reference = run_dropout,
                .expand = {},
                .traits = of_pattern(Pattern::elementwise)}};
}

} // namespace lanner::ops
