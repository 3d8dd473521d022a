// batch_normalization in its inference form goes into the convolution before it, or becomes one mul and one
// add.

#include <algorithm>
#include <cmath>

#include "passes/magnitude.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/scale_weights.h"

namespace lanner::passes {

namespace {

struct Affine {
  std::vector<double> scale, shift;
};

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta = scale * x + shift
std::optional<Affine> affine_of(const Node& node) {
  const auto gamma = constant_reals(node.input(1)), beta = constant_reals(node.input(2)),
             mean = constant_reals(node.input(3)), variance = constant_reals(node.input(4));
  if (!gamma || !beta || !mean || !variance) return std::nullopt;
  const double epsilon = static_cast<float>(node.attributes.real("epsilon", 1e-5f));
  Affine result;
  for (std::size_t i = 0; i < gamma->size(); ++i) {
    const double scale = (*gamma)[i] / std::sqrt((*variance)[i] + epsilon);
    const double shift = (*beta)[i] - (*mean)[i] * scale;
    if (!std::isfinite(scale) || !std::isfinite(shift)) return std::nullopt;
    result.scale.push_back(scale);
    result.shift.push_back(shift);
  }
  return result;
}

// What x * scale would overflow to, adding the shift does not bring back.
bool holds(const Affine& affine, DType type) {
  return std::ranges::all_of(affine.scale, [=](double x) { return is_moderate_factor(x, type); }) &&
         std::ranges::all_of(affine.shift, [=](double x) { return is_moderate_size(x, type); });
}

Value* channel_constant(Node& before, const std::vector<double>& values, const Type& type,
                        std::string_view name) {
  Shape shape{static_cast<std::int64_t>(values.size())};
  for (std::size_t i = 2; i < type.rank(); ++i) shape.push_back(1);
  Tensor tensor = Tensor::allocate(type.dtype(), shape);
  copy_tensor(Tensor::from<double>(values, shape), tensor);
  return before.region()->graph().constant(std::move(tensor), name, &before);
}

bool is_inference(const Node& node) {
  if (node.kind() != "batch_normalization" || node.attributes.flag("training_mode")) return false;
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (!node.output(i)->unused()) return false;
  }
  return node.input(0)->type.ranked() && node.input(0)->type.rank() >= 2;
}

bool fold(Node& node) {
  const auto affine = is_inference(node) ? affine_of(node) : std::nullopt;
  if (!affine) return false;
  Value* x = node.input(0);
  const Type type = node.output()->type;
  const auto channels = scalable_channels(x);
  if (channels && channels->axis == 1 && channels->count == affine->scale.size()) {
    Node* anchor = x->producer();
    if (scale_channels(x, affine->scale, affine->shift)) {
      take_sources(*anchor, node);
      replace(node, node.input(0));
      return true;
    }
  }
  if (!holds(*affine, type.dtype())) return false;
  Value* scaled = emit_before(
      node, "mul", std::vector<Value*>{x, channel_constant(node, affine->scale, type, "scale")}, {}, type);
  replace(node, emit_before(node, "add",
                            std::vector<Value*>{scaled, channel_constant(node, affine->shift, type, "shift")},
                            {}, type));
  return true;
}

} // namespace

bool fold_batch_normalization(Graph& graph) {
  return for_each_node(graph, fold);
}

} // namespace lanner::passes
