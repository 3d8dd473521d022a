#include <cmath>

#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// A batch of single values has one channel.
static Dim channel_count(const Type& x) {
  return x.rank() > 1 ? x.dims()[1] : Dim(1);
}

static void infer_batch_normalization(InferContext& context) {
  const Type& x = context.input(0);
  const bool training = context.attributes().flag("training_mode");
  check(training || context.outputs() == 1, ErrorCode::invalid_argument,
        "{} outputs, expected 1 without training_mode", context.outputs());
  infer_like(context);
  for (std::size_t i = 1; i <= 4; ++i) {
    require_rank(context, i, 1);
    if (x.ranked() && context.input(i).ranked())
      require_equal(context.input(i).dims()[0], channel_count(x), "the size of a channel parameter");
  }
  for (std::size_t i = 1; i < context.outputs(); ++i) infer_like(context, i + 2, i);
}

struct ChannelStatistics {
  std::vector<double> mean, variance;
};

/// Mean and population variance of each channel of [batch, channels, inner].
template<typename T>
static ChannelStatistics channel_statistics(std::span<const T> x, const AxisView& view) {
  ChannelStatistics found;
  const double count = static_cast<double>(view.outer * view.inner);
  const auto sum_over = [&](std::int64_t c, auto&& term) {
    double sum = 0;
    for (std::int64_t n = 0; !x.empty() && n < view.outer; ++n) { // The batch may have any size.
      const T* plane = x.data() + (n * view.size + c) * view.inner;
      for (std::int64_t i = 0; i < view.inner; ++i) sum += term(static_cast<double>(plane[i]));
    }
    return sum;
  };
  for (std::int64_t c = 0; c < view.size; ++c) {
    const double mean = sum_over(c, [](double v) { return v; }) / count;
    found.mean.push_back(mean);
    found.variance.push_back(sum_over(c, [=](double v) { return (v - mean) * (v - mean); }) / count);
  }
  return found;
}

static void store_running(KernelContext& context, std::size_t output, const std::vector<double>& current) {
  if (context.outputs() <= output || !context.wanted(output)) return;
  const double momentum = context.attributes().real("momentum", 0.9);
  std::vector<double> running = doubles_of(context.input(output + 2));
  for (std::size_t c = 0; c < running.size(); ++c)
    running[c] = running[c] * momentum + current[c] * (1 - momentum);
  const Tensor result = Tensor::from<double>(running, context.input(output + 2).shape());
  copy_tensor(result, context.output(output));
}

static AxisView channel_view(const Shape& shape) {
  if (shape.rank() > 1) return view_axis(shape, 1);
  return {shape.elements(), 1, 1};
}

static void run_batch_normalization(KernelContext& context) {
  WideOutput y(context.output(0));
  const Tensor x = to_dtype(context.input(0), compute_dtype(context.input(0).dtype()));
  const AxisView view = channel_view(x.shape());
  const std::vector<double> scale = doubles_of(context.input(1)), bias = doubles_of(context.input(2));
  const double epsilon = context.attributes().real("epsilon", 1e-5);
  visit_compute(x.dtype(), [&]<typename T>(Tag<T>) {
    const bool training = context.attributes().flag("training_mode");
    const ChannelStatistics used =
        training ? channel_statistics(x.as<T>(), view)
                 : ChannelStatistics{doubles_of(context.input(3)), doubles_of(context.input(4))};
    if (training) {
      store_running(context, 1, used.mean);
      store_running(context, 2, used.variance);
    }
    for_each_row(context.threads(), view.outer * view.size, [&](std::int64_t row) {
      const auto c = static_cast<std::size_t>(row % view.size);
      const double factor = scale[c] / std::sqrt(used.variance[c] + epsilon);
      const T a = static_cast<T>(factor), b = static_cast<T>(bias[c] - used.mean[c] * factor);
      const T* in = x.as<T>().data() + row * view.inner;
      T* out = y.as<T>().data() + row * view.inner;
      for (std::int64_t i = 0; i < view.inner; ++i) out[i] = in[i] * a + b;
    });
  });
  y.store();
}

std::vector<OpDef> batch_normalization_ops() {
  return {
      OpDef{.name = "batch_normalization",
            .min_inputs = 5,
            .max_inputs = 5,
            .max_outputs = 3,
            .operands = {{"x", dtypes::floats, 'T'},
                         {"scale", dtypes::floats, 'S', "C"},
                         {"bias", dtypes::floats, 'S', "C"},
                         {"mean", dtypes::floats, 'V', "C"},
                         {"variance", dtypes::floats, 'V', "C"}},
            .attributes = {real_attribute("epsilon", 1e-5, finite_from(0)),
                           real_attribute("momentum", 0.9, finite()), flag_attribute("training_mode", false)},
            .infer = infer_batch_normalization,
            .reference = run_batch_normalization,
            .expand = {},
            .traits = of_pattern(Pattern::elementwise)}};
}

} // namespace lanner::ops
