#include <cmath>

#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/reduction/reduce_plan.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static std::vector<std::size_t> normalized_axes(const AttributeMap& attributes, std::size_t rank) {
  return resolve_axes(attributes.integers("axes", {0, 2, 3}), rank);
}

static void infer_mean_variance_normalization(InferContext& context) {
  if (context.input(0).ranked()) normalized_axes(context.attributes(), context.input(0).rank());
  infer_like(context);
}

static void run_mean_variance_normalization(KernelContext& context) {
  WideOutput y(context.output(0));
  const Tensor x = to_dtype(context.input(0), compute_dtype(context.input(0).dtype()));
  const ReducePlan plan = plan_reduce(x.shape(), normalized_axes(context.attributes(), x.rank()));
  const double count = static_cast<double>(plan.runs.size()) * static_cast<double>(plan.run);
  constexpr double epsilon = 1e-9; // ONNX's definition adds it to the standard deviation.
  visit_compute(x.dtype(), [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), static_cast<std::int64_t>(plan.results.size()), [&](std::int64_t group) {
      const auto each = [&](auto&& body) {
        for (const std::int64_t start : plan.runs)
          for (std::int64_t i = 0; i < plan.run; ++i)
            body(static_cast<std::size_t>(plan.results[static_cast<std::size_t>(group)] + start +
                                          i * plan.stride));
      };
      const auto value = [&](std::size_t at) { return static_cast<double>(x.as<T>()[at]); };
      double mean = 0, variance = 0;
      each([&](std::size_t at) { mean += value(at) / count; });
      each([&](std::size_t at) { variance += (value(at) - mean) * (value(at) - mean) / count; });
      const double deviation = std::sqrt(variance) + epsilon;
      each([&](std::size_t at) { y.as<T>()[at] = static_cast<T>((value(at) - mean) / deviation); });
    });
  });
  y.store();
}

std::vector<OpDef> mean_variance_normalization_ops() {
  return {OpDef{.name = "mean_variance_normalization",
                .min_inputs = 1,
                .max_inputs = 1,
                .operands = {{"x", dtypes::floats}},
                .attributes = {{"axes", AttributeKind::integers, false,
                                Attribute(std::vector<std::int64_t>{0, 2, 3}), axis_range()}},
                .infer = infer_mean_variance_normalization,
                .reference = run_mean_variance_normalization,
                .expand = {},
                .traits = {.pattern = Pattern::row, .accumulates = true, .line_length = line_of_axes}}};
}

} // namespace lanner::ops
