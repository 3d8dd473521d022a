#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/normalization/normalize.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// instance_normalization is group_normalization with one channel per group.

static void infer_channels(InferContext& context) {
  const Type& x = context.input(0);
  infer_like(context);
  if (!x.ranked()) return;
  check(x.rank() >= 2, ErrorCode::invalid_argument, "input is {}, expected rank 2 or more", x.to_string());
  for (std::size_t i : {1, 2}) {
    require_rank(context, i, 1);
    if (context.input(i).ranked())
      require_equal(context.input(i).dims()[0], x.dims()[1], "the size of a channel parameter");
  }
}

static void infer_group_normalization(InferContext& context) {
  infer_channels(context);
  const std::int64_t groups = context.attributes().get<std::int64_t>("num_groups");
  check(groups >= 1, ErrorCode::invalid_argument, "num_groups is {}, expected at least 1", groups);
  if (context.input(0).ranked())
    require_equal(mod(context.input(0).dims()[1], groups), 0, "the remainder of channels over num_groups");
}

static void normalize_groups(KernelContext& context, std::int64_t channels_per_group) {
  WideOutput y(context.output(0));
  const DType type = compute_dtype(context.input(0).dtype());
  const Tensor x = to_dtype(context.input(0), type);
  const Tensor scale = to_dtype(context.input(1), type), bias = to_dtype(context.input(2), type);
  const AxisView view = view_axis(x.shape(), 1);
  const std::int64_t group = channels_per_group * view.inner;
  const double epsilon = context.attributes().real("epsilon", 1e-5);
  visit_compute(type, [&]<typename T>(Tag<T>) {
    const std::int64_t groups = group == 0 ? 0 : x.elements() / group;
    for_each_row(context.threads(), groups, [&](std::int64_t g) {
      const auto in = x.as<T>().subspan(static_cast<std::size_t>(g * group), static_cast<std::size_t>(group));
      T* out = y.as<T>().data() + g * group;
      const Moments moments = moments_of(in);
      const double factor = 1 / std::sqrt(moments.variance + epsilon);
      for (std::int64_t i = 0; i < group; ++i) {
        const auto c = static_cast<std::size_t>((g * channels_per_group + i / view.inner) % view.size);
        const double unit = (static_cast<double>(in[static_cast<std::size_t>(i)]) - moments.mean) * factor;
        out[i] = static_cast<T>(unit) * scale.as<T>()[c] + bias.as<T>()[c];
      }
    });
  });
  y.store();
}

static void run_instance_normalization(KernelContext& context) {
  normalize_groups(context, 1);
}

static void run_group_normalization(KernelContext& context) {
  normalize_groups(context,
                   context.input(0).shape()[1] / context.attributes().get<std::int64_t>("num_groups"));
}

std::vector<OpDef> group_normalization_ops() {
  OpDef instance{.name = "instance_normalization",
                 .min_inputs = 3,
                 .max_inputs = 3,
                 .operands = {{"x", dtypes::floats, 'T', "N C ..."},
                              {"scale", dtypes::floats, 'T', "C"},
                              {"bias", dtypes::floats, 'T', "C"}},
                 .attributes = {real_attribute("epsilon", 1e-5, finite_from(0))},
                 .infer = infer_channels,
                 .reference = run_instance_normalization,
                 .expand = {},
                 .traits = {.pattern = Pattern::row,
                            .accumulates = true,
                            .per_image = true,
                            .split = splits_images,
                            .line_length = line_of_image}};
  OpDef group{.name = "group_normalization",
              .min_inputs = 3,
              .max_inputs = 3,
              .operands = {{"x", dtypes::floats, 'T', "N C ..."},
                           {"scale", dtypes::floats, 'T', "C"},
                           {"bias", dtypes::floats, 'T', "C"}},
              .attributes = {real_attribute("epsilon", 1e-5, finite_from(0)),
                             integer_attribute("stash_type", 1, any_integer()),
                             required_attribute("num_groups", AttributeKind::integer, between(1, INT32_MAX))},
              .infer = infer_group_normalization,
              .reference = run_group_normalization,
              .expand = {},
              .traits = {.pattern = Pattern::row,
                         .accumulates = true,
                         .per_image = true,
                         .split = splits_images,
                         .line_length = line_of_channels}};
  return {std::move(instance), std::move(group)};
}

} // namespace lanner::ops
