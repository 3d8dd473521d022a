// batch_normalization for inference is folded into the convolution before it, or becomes one mul and one add.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "passes/passes.h"
#include "passes/rewriting/magnitude.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/scale_weights.h"

namespace lanner::passes {

namespace {

struct Affine {
  Value *scale = nullptr, *shift = nullptr; ///< f64, one number per channel.
};

bool all_are(const Value* value, const std::function<bool(double)>& fits) {
  const auto numbers = constant_reals(value);
  return numbers && std::ranges::all_of(*numbers, fits);
}

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta = scale * x + shift
std::optional<Affine> affine_of(ConstantMath& math, const Node& node) {
  std::array<Value*, 5> wide{};
  for (std::size_t i = 1; i < wide.size(); ++i) {
    if (!constant_reals(node.input(i))) return std::nullopt;
    wide[i] = math.cast(node.input(i), DType::f64);
  }
  const auto [x, gamma, beta, mean, variance] = wide;
  Value* const epsilon = math.number(static_cast<float>(node.attributes.real("epsilon", 1e-5f)));
  Value* const deviation = math.apply("sqrt", {math.apply("add", {variance, epsilon})});
  Affine result;
  result.scale = math.apply("div", {gamma, deviation});
  result.shift = math.apply("sub", {beta, math.apply("mul", {mean, result.scale})});
  const auto finite = [](double number) { return std::isfinite(number); };
  if (!result.shift || !all_are(result.scale, finite) || !all_are(result.shift, finite)) return std::nullopt;
  return result;
}

// If x * scale overflows, adding the shift does not undo it.
bool holds(const Affine& affine, DType type) {
  return all_are(affine.scale, [=](double x) { return is_moderate_factor(x, type); }) &&
         all_are(affine.shift, [=](double x) { return is_moderate_size(x, type); });
}

Value* channel_constant(ConstantMath& math, Value* numbers, const Type& type) {
  Shape shape{numbers->constant()->elements()};
  for (std::size_t i = 2; i < type.rank(); ++i) shape.push_back(1);
  return math.cast(math.reshape(numbers, shape), type.dtype());
}

bool is_inference(const Node& node) {
  if (node.kind() != "batch_normalization" || node.attributes.flag("training_mode")) return false;
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (!node.output(i)->unused()) return false;
  }
  return node.input(0)->type.ranked() && node.input(0)->type.rank() >= 2;
}

bool fold(Node& node) {
  if (!is_inference(node)) return false;
  Value* x = node.input(0);
  const Type type = node.output()->type;
  const auto channels = scalable_channels(x);
  ConstantMath math(channels ? *channels->anchor : node);
  const auto affine = affine_of(math, node);
  if (!affine) return false;
  const std::int64_t count = affine->scale->constant()->elements();
  if (channels && channels->axis == 1 && static_cast<std::int64_t>(channels->count) == count) {
    Node* anchor = x->producer();
    Node* weights = anchor->inputs().size() > 1 ? producer(anchor->input(1), "constant") : nullptr;
    if (scale_channels(math, x, affine->scale, affine->shift)) {
      take_sources(*anchor, node);
      replace(node, node.input(0));
      // Dropped at once: otherwise the old and new weights of all convolutions would be in memory at the same
      // time.
      if (weights && weights->output()->unused()) weights->region()->erase(weights);
      return true;
    }
  }
  if (!holds(*affine, type.dtype())) return false;
  Value *scale = channel_constant(math, affine->scale, type),
        *shift = channel_constant(math, affine->shift, type);
  if (!scale || !shift) return false;
  node.region()->graph().rename(scale, "scale");
  node.region()->graph().rename(shift, "shift");
  Value* scaled = emit_before(node, "mul", std::vector<Value*>{x, scale}, {}, type);
  replace(node, emit_before(node, "add", std::vector<Value*>{scaled, shift}, {}, type));
  return true;
}

} // namespace

bool fold_batch_normalization(Graph& graph) {
  return for_each_node(graph, fold);
}

} // namespace lanner::passes
