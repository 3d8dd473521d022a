#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// negative_log_likelihood_loss, and softmax_cross_entropy_loss, which applies log-softmax first.

static std::string reduction_of(const AttributeMap& attributes) {
  const std::string reduction = attributes.string("reduction", "mean");
  check(reduction == "none" || reduction == "sum" || reduction == "mean", ErrorCode::invalid_argument,
        "reduction is \"{}\", expected none, sum or mean", reduction);
  return reduction;
}

static void infer_loss(InferContext& context) {
  const Type &scores = context.input(0), &labels = context.input(1);
  const bool whole = reduction_of(context.attributes()) == "none";
  if (whole && !labels.ranked())
    context.set_output(0, Type::unranked(scores.dtype()));
  else
    context.set_output(0, Type(scores.dtype(), whole ? labels.dims() : Dims{}));
  if (context.outputs() > 1) infer_like(context, 0, 1);
  if (!scores.ranked() || !labels.ranked()) return;
  check(scores.rank() >= 2 && labels.rank() + 1 == scores.rank(), ErrorCode::invalid_argument,
        "scores are {}, labels {}: expected labels without the second axis", scores.to_string(),
        labels.to_string());
  for (std::size_t d = 0; d < labels.rank(); ++d)
    require_equal(labels.dims()[d], scores.dims()[d == 0 ? 0 : d + 1], "a size of the labels");
}

/// Log-softmax over the classes, whose axis is `view`.
static Tensor log_softmax(const Tensor& scores, const AxisView& view) {
  Tensor result = Tensor::allocate(DType::f64, scores.shape());
  const auto x = scores.as<double>();
  const auto y = result.as<double>();
  for (std::int64_t line = 0; line < view.outer * view.inner; ++line) {
    const std::int64_t start = line / view.inner * view.size * view.inner + line % view.inner;
    const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(start + c * view.inner); };
    double largest = -INFINITY, sum = 0;
    for (std::int64_t c = 0; c < view.size; ++c) largest = std::max(largest, x[at(c)]);
    for (std::int64_t c = 0; c < view.size; ++c) sum += std::exp(x[at(c)] - largest);
    for (std::int64_t c = 0; c < view.size; ++c) y[at(c)] = x[at(c)] - largest - std::log(sum);
  }
  return result;
}

struct Losses {
  CountedVector<double> values;
  double weight = 0; ///< Sum of the weights of labels that are not ignored.
};

static Losses losses_of(const KernelContext& context, const Tensor& log_probabilities, const AxisView& view) {
  const std::vector<std::int64_t> labels = read_integers(context.input(1), "labels");
  const bool weighted = context.has(2);
  const Tensor weights = weighted ? to_dtype(context.input(2), DType::f64) : Tensor();
  check(!weighted || weights.elements() == view.size, ErrorCode::invalid_argument,
        "{} weights for {} classes", weighted ? weights.elements() : 0, view.size);
  const bool ignores = context.attributes().has("ignore_index");
  const std::int64_t ignored = context.attributes().integer("ignore_index", 0);
  Losses losses{CountedVector<double>(labels.size(), 0), 0};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t label = labels[i], place = static_cast<std::int64_t>(i);
    if (ignores && label == ignored) continue;
    check(label >= 0 && label < view.size, ErrorCode::invalid_argument,
          "label {} is out of range for {} classes", label, view.size);
    const double weight = weighted ? weights.as<double>()[static_cast<std::size_t>(label)] : 1;
    const std::int64_t at = (place / view.inner * view.size + label) * view.inner + place % view.inner;
    losses.values[i] = -weight * log_probabilities.as<double>()[static_cast<std::size_t>(at)];
    losses.weight += weight;
  }
  return losses;
}

static void run_loss(KernelContext& context, bool softmax) {
  Tensor& y = context.output(0);
  Tensor scores = Tensor::allocate(DType::f64, context.input(0).shape());
  copy_tensor(context.input(0), scores);
  const AxisView view = view_axis(scores.shape(), 1);
  const Tensor logs = softmax ? log_softmax(scores, view) : scores;
  if (context.outputs() > 1 && context.wanted(1)) copy_tensor(logs, context.output(1));
  const Losses losses = losses_of(context, logs, view);
  const std::string reduction = reduction_of(context.attributes());
  if (reduction == "none") return copy_tensor(Tensor::from<double>(losses.values, y.shape()), y);
  double sum = 0;
  for (const double value : losses.values) sum += value;
  copy_tensor(Tensor::scalar<double>(reduction == "sum" ? sum : sum / losses.weight), y);
}

static OpDef loss_op(std::string name, int outputs, bool softmax) {
  return OpDef{.name = std::move(name),
               .min_inputs = 2,
               .max_inputs = 3,
               .max_outputs = outputs,
               .operands = {{"scores", dtypes::floats, 'T', "N C ..."},
                            {"labels", dtypes::counts},
                            {"weights", dtypes::floats, 'T', "C"}},
               .attributes = {optional_attribute("ignore_index", AttributeKind::integer, any_integer()),
                              string_attribute("reduction", "mean", one_of({"none", "sum", "mean"}))},
               .infer = infer_loss,
               .reference = [=](KernelContext& context) { run_loss(context, softmax); },
               .expand = {},
               .traits = {.pattern = Pattern::composite, .accumulates = true}};
}

std::vector<OpDef> cross_entropy_ops() {
  return {loss_op("negative_log_likelihood_loss", 1, false), loss_op("softmax_cross_entropy_loss", 2, true)};
}

} // namespace lanner::ops
