#include <cmath>

#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_lrn(InferContext& context) {
  const std::int64_t size = context.attributes().get<std::int64_t>("size");
  check(size >= 1, ErrorCode::invalid_argument, "size is {}, expected at least 1", size);
  const Type& x = context.input(0);
  check(!x.ranked() || x.rank() >= 2, ErrorCode::invalid_argument, "input is {}, expected rank 2 or more",
        x.to_string());
  infer_like(context);
}

static void run_lrn(KernelContext& context) {
  WideOutput y(context.output(0));
  const AttributeMap& attributes = context.attributes();
  const std::int64_t size = attributes.get<std::int64_t>("size");
  const double scale = attributes.real("alpha", 1e-4) / static_cast<double>(size);
  const double beta = attributes.real("beta", 0.75), bias = attributes.real("bias", 1);
  const Tensor x = to_dtype(context.input(0), compute_dtype(context.input(0).dtype()));
  const AxisView view = view_axis(x.shape(), 1);
  visit_compute(x.dtype(), [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), view.outer * view.size, [&](std::int64_t row) {
      const std::int64_t c = row % view.size;
      const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2);
      const std::int64_t last = std::min(view.size - 1, c + size / 2);
      const T* in = x.as<T>().data() + row * view.inner;
      T* out = y.as<T>().data() + row * view.inner;
      for (std::int64_t i = 0; i < view.inner; ++i) {
        double squares = 0;
        for (std::int64_t k = first - c; k <= last - c; ++k) {
          const double value = static_cast<double>(in[k * view.inner + i]);
          squares += value * value;
        }
        out[i] = static_cast<T>(static_cast<double>(in[i]) / std::pow(bias + scale * squares, beta));
      }
    });
  });
  y.store();
}

std::vector<OpDef> lrn_ops() {
  return {
      OpDef{.name = "lrn",
            .min_inputs = 1,
            .max_inputs = 1,
            .operands = {{"x", dtypes::floats, 0, "N C ..."}},
            .attributes = {real_attribute("alpha", 1e-4, finite()), real_attribute("beta", 0.75, finite()),
                           real_attribute("bias", 1, finite()),
                           required_attribute("size", AttributeKind::integer, between(1, INT32_MAX))},
            .infer = infer_lrn,
            .reference = run_lrn,
            .expand = {},
            .traits = {
                .pattern = Pattern::window, .accumulates = true, .per_image = true, .split = splits_images}}};
}

} // namespace lanner::ops
