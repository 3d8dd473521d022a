// Random tensors. A seed gives the same numbers on every run and machine (splitmix64, Box and Muller);
// without one each run draws different numbers.

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

namespace {

/// splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
class Generator {
public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Normal with mean 0 and deviation 1.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  std::uint64_t state_;
};

std::uint64_t fresh_seed() {
  static std::atomic<std::uint64_t> count{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return Generator(static_cast<std::uint64_t>(now) ^ (count.fetch_add(1) << 40)).next();
}

Generator generator_for(const AttributeMap& attributes) {
  if (!attributes.has("seed")) return Generator(fresh_seed());
  return Generator(std::bit_cast<std::uint64_t>(attributes.real("seed", 0)));
}

/// Fills output 0 with the results of `draw(generator)`.
template<typename Draw>
void fill_random(KernelContext& context, Draw draw) {
  Generator generator = generator_for(context.attributes());
  through_dtype(context.output(0), DType::f64, [&](Tensor& out) {
    for (double& value : out.as<double>()) value = draw(generator);
  });
}

} // namespace

static void run_normal(KernelContext& context) {
  const double mean = context.attributes().real("mean", 0), scale = context.attributes().real("scale", 1);
  fill_random(context, [=](Generator& generator) { return mean + scale * generator.normal(); });
}

static void run_uniform(KernelContext& context) {
  const double low = context.attributes().real("low", 0), high = context.attributes().real("high", 1);
  fill_random(context, [=](Generator& generator) { return low + (high - low) * generator.uniform(); });
}

static void infer_shaped(InferContext& context) {
  const std::vector<std::int64_t> shape = context.attributes().integers("shape");
  for (const std::int64_t size : shape)
    check(size >= 0, ErrorCode::invalid_argument, "{}: a dim of {}", context.node().kind(), size);
  context.set_output(
      0, Type(context.attributes().get<DType>("dtype", DType::f32), Dims(shape.begin(), shape.end())));
}

static void infer_like_shape(InferContext& context) {
  const Type& input = context.input(0);
  context.set_output(0, input.with_dtype(context.attributes().get<DType>("dtype", input.dtype())));
}

static void run_bernoulli(KernelContext& context) {
  Generator generator = generator_for(context.attributes());
  const Tensor probability = to_dtype(context.input(0), DType::f64);
  const auto p = probability.as<double>();
  through_dtype(context.output(0), DType::f64, [&](Tensor& out) {
    const auto values = out.as<double>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = generator.uniform() < p[i] ? 1 : 0;
  });
}

static void infer_multinomial(InferContext& context) {
  const Type& input = context.input(0);
  require_rank(context, 0, 2);
  const std::int64_t count = context.attributes().integer("sample_size", 1);
  check(count >= 0, ErrorCode::invalid_argument, "multinomial: sample_size is {}", count);
  const Dim rows = input.ranked() ? input.dims()[0] : context.fresh("rows", Dim(INT64_MAX));
  context.set_output(0, Type(context.attributes().get<DType>("dtype", DType::i32), {rows, Dim(count)}));
}

/// Draws from each row of unnormalised log-probabilities, by the inverse of their running sum.
static void run_multinomial(KernelContext& context) {
  Generator generator = generator_for(context.attributes());
  const Tensor input = to_dtype(context.input(0), DType::f64);
  const auto classes = static_cast<std::size_t>(input.shape()[1]);
  const auto samples = static_cast<std::size_t>(context.output(0).shape()[1]);
  check(classes > 0 || context.output(0).elements() == 0, ErrorCode::invalid_argument,
        "multinomial: no classes to draw");
  through_dtype(context.output(0), DType::i64, [&](Tensor& out) {
    const auto drawn = out.as<std::int64_t>();
    for (std::size_t row = 0; samples > 0 && row < drawn.size() / samples; ++row) {
      const auto logits = input.as<double>().subspan(row * classes, classes);
      const double top = *std::max_element(logits.begin(), logits.end());
      CountedVector<double> sums;
      for (const double logit : logits)
        sums.push_back((sums.empty() ? 0 : sums.back()) + std::exp(logit - top));
      for (std::size_t i = 0; i < samples; ++i) {
        const auto found = std::upper_bound(sums.begin(), sums.end(), generator.uniform() * sums.back());
        drawn[row * samples + i] =
            std::min<std::int64_t>(found - sums.begin(), static_cast<std::int64_t>(classes) - 1);
      }
    }
  });
}

static OpDef random_op(std::string name, std::vector<OperandSpec> operands,
                       std::vector<AttributeSpec> attributes, void (*infer)(InferContext&),
                       void (*run)(KernelContext&)) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = op.max_inputs = static_cast<int>(operands.size());
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  op.attributes.push_back(optional_attribute("seed", AttributeKind::real, no_nan()));
  op.infer = infer;
  op.reference = run;
  op.traits = of_pattern(Pattern::generation);
  op.pure = false;
  return op;
}

std::vector<OpDef> random_ops() {
  const OperandSpec like{"like", dtypes::any};
  const AttributeSpec shape =
      required_attribute("shape", AttributeKind::integers, at_least(0).counted(0, 64));
  const AttributeSpec f32 = dtype_attribute("dtype", DType::f32, dtypes::numbers);
  const AttributeSpec i32 = dtype_attribute("dtype", DType::i32, dtypes::integers);
  const AttributeSpec own = optional_attribute("dtype", AttributeKind::dtype, element_types(dtypes::any));
  const AttributeSpec mean = real_attribute("mean", 0, finite()),
                      scale = real_attribute("scale", 1, finite());
  const AttributeSpec low = real_attribute("low", 0, finite()), high = real_attribute("high", 1, finite());
  return {
      random_op("random_normal", {}, {shape, f32, mean, scale}, infer_shaped, run_normal),
      random_op("random_uniform", {}, {shape, f32, low, high}, infer_shaped, run_uniform),
      random_op("random_normal_like", {like}, {own, mean, scale}, infer_like_shape, run_normal),
      random_op("random_uniform_like", {like}, {own, low, high}, infer_like_shape, run_uniform),
      random_op("bernoulli", {{"x", dtypes::floats}}, {own}, infer_like_shape, run_bernoulli),
      random_op("multinomial", {{"x", dtypes::floats, 0, "_ _"}},
                {i32, integer_attribute("sample_size", 1, between(0, INT32_MAX))}, infer_multinomial,
                run_multinomial),
  };
}

} // namespace lanner::ops
