#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static bool has_silu(const AttributeMap& attributes) {
  const std::string name = attributes.string("activation", "none");
  check(name == "none" || name == "silu" || name == "swish", ErrorCode::invalid_argument,
        "activation is \"{}\", expected none, silu or swish", name);
  return name != "none";
}

static void infer_causal_conv(InferContext& context) {
  const Type &x = context.input(0), &w = context.input(1);
  has_silu(context.attributes());
  require_rank(context, 0, 3);
  require_rank(context, 1, 3);
  infer_like(context);
  if (!x.ranked() || !w.ranked()) return context.set_output(1, Type::unranked(x.dtype()));
  require_equal(w.dims()[0], x.dims()[1], "the weights' channel count");
  require_equal(w.dims()[1], 1, "the weights' second size");
  if (context.has(2) && context.input(2).ranked())
    require_equal(product(context.input(2).dims()), x.dims()[1], "the bias's size");
  const Dims state{x.dims()[0], x.dims()[1], w.dims()[2] - 1};
  check(!state[2].is_constant() || state[2].value() >= 0, ErrorCode::invalid_argument, "the kernel is empty");
  if (context.has(3) && context.input(3).ranked()) {
    require_rank(context, 3, 3);
    for (std::size_t d = 0; d < 3; ++d)
      require_equal(context.input(3).dims()[d], state[d], "a size of past_state");
  }
  context.set_output(1, x.with_dims(state));
}

static void run_causal_conv(KernelContext& context) {
  WideOutput y(context.output(0)), present(context.output(1));
  const DType type = compute_dtype(context.input(0).dtype());
  const Tensor x = to_dtype(context.input(0), type), w = to_dtype(context.input(1), type);
  const auto optional = [&](std::size_t i) {
    return context.has(i) ? to_dtype(context.input(i), type) : Tensor();
  };
  const Tensor bias = optional(2), past = optional(3);
  const std::int64_t channels = x.shape()[1], length = x.shape()[2], taps = w.shape()[2], before = taps - 1;
  const bool silu = has_silu(context.attributes());
  visit_compute(type, [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), x.shape()[0] * channels, [&](std::int64_t row) {
      CountedVector<T> line(static_cast<std::size_t>(before + length), T{0});
      if (past.defined()) std::copy_n(past.as<T>().begin() + row * before, before, line.begin());
      std::copy_n(x.as<T>().begin() + row * length, length, line.begin() + before);
      const T* kernel = w.as<T>().data() + row % channels * taps;
      for (std::int64_t t = 0; t < length; ++t) {
        T sum = bias.defined() ? bias.as<T>()[static_cast<std::size_t>(row % channels)] : T{0};
        for (std::int64_t k = 0; k < taps; ++k) sum += kernel[k] * line[static_cast<std::size_t>(t + k)];
        y.as<T>()[static_cast<std::size_t>(row * length + t)] = silu ? sum / (1 + std::exp(-sum)) : sum;
      }
      std::copy(line.end() - before, line.end(), present.as<T>().begin() + row * before);
    });
  });
  y.store();
  present.store();
}

std::vector<OpDef> causal_conv_with_state_ops() {
  return {OpDef{.name = "causal_conv_with_state",
                .min_inputs = 2,
                .max_inputs = 4,
                .min_outputs = 2,
                .max_outputs = 2,
                .operands = {{"x", dtypes::floats, 'T', "N C L"},
                             {"weights", dtypes::floats, 'T', "C 1 K"},
                             {"bias", dtypes::floats, 'T'},
                             {"past_state", dtypes::floats, 'T', "N C _"}},
                .attributes = {string_attribute("activation", "none", one_of({"none", "silu", "swish"}))},
                .infer = infer_causal_conv,
                .reference = run_causal_conv,
                .expand = {},
                .traits = {.pattern = Pattern::composite, .accumulates = true}}};
}

} // namespace lanner::ops
