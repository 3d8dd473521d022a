#include "passes/int8/bias_correction.h"

#include "passes/rewriting/constant_math.h"

namespace lanner::passes {
namespace {

Tensor other_axes(std::size_t rank, std::int64_t axis) {
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (i != axis) others.push_back(i);
  return Tensor::from<std::int64_t>(others, {static_cast<std::int64_t>(others.size())});
}

AttributeMap without_dims() {
  AttributeMap attributes;
  attributes.set("keepdims", std::int64_t{0});
  return attributes;
}

/// sum of (weights - rounded) * means.rounded + weights * means.lost, for each index of `axis`.
Value* computed(ConstantMath& math, Node& node, Value* weights, const Node& rounded, std::int64_t axis,
                const InputMeans& means) {
  Graph& graph = node.region()->graph();
  const Shape shape = weights->type.shape();
  const std::int64_t groups = axis == 0 ? node.attributes.integer("group", 1) : 1;
  Value* const helpers[] = {
      graph.constant(by_weight_channel(means.rounded, shape, axis, groups), "mean", &node),
      graph.constant(by_weight_channel(means.lost, shape, axis, groups), "lost", &node),
      graph.constant(other_axes(shape.rank(), axis), "axes", &node)};
  Value* const stored =
      math.apply("dequantize_linear", {rounded.input(0), rounded.input(1)}, rounded.attributes);
  Value* const of_weights = math.apply("mul", {math.apply("sub", {weights, stored}), helpers[0]});
  Value* const of_values = math.apply("mul", {weights, helpers[1]});
  Value* const made =
      math.apply("reduce_sum", {math.apply("add", {of_weights, of_values}), helpers[2]}, without_dims());
  for (Value* helper : helpers)
    if (helper->unused()) helper->region()->erase(helper->producer());
  return made;
}

/// Adds a constant to what readers of the product read, under its name.
void add_behind(Node& product, Value* correction) {
  Graph& graph = product.region()->graph();
  Value* const result = product.output();
  const std::string name = result->name();
  Node* const next = product.region()->next(&product);
  Value* const sum = graph.emit("add", std::vector<Value*>{result, correction}, {}, result->type, name, next);
  sum->producer()->sources = product.sources;
  result->replace_all_uses(sum);
  sum->producer()->set_input(0, result);
  graph.rename(result, name + "_uncorrected");
  graph.rename(sum, name);
}

} // namespace

Tensor by_weight_channel(std::span<const float> numbers, const Shape& weights, std::int64_t axis,
                         std::int64_t groups) {
  if (axis != 0) return Tensor::from<float>(numbers, {weights[0], 1});
  const std::int64_t outputs = groups > 1 ? weights[0] : 1, inputs = weights[1];
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(outputs * inputs));
  for (std::int64_t o = 0; o < outputs; ++o)
    for (std::int64_t i = 0; i < inputs; ++i)
      values.push_back(numbers[static_cast<std::size_t>(o * groups / outputs * inputs + i)]);
  std::vector<std::int64_t> dims(weights.rank(), 1);
  dims[0] = outputs;
  dims[1] = inputs;
  return Tensor::from<float>(values, Shape{std::span<const std::int64_t>(dims)});
}

Value* channel_means(Graph& graph, Value& value, std::int64_t axis) {
  Value* const axes = graph.constant(other_axes(value.type.rank(), axis), "axes");
  const std::vector<Value*> inputs = {&value, axes};
  return graph.emit("reduce_mean", inputs, without_dims(), Type::unranked(DType::f32));
}

WeightSums::WeightSums(const Tensor& weights, const Tensor& bytes, const Tensor& scale, std::int64_t axis,
                       std::int64_t groups)
    : groups_(groups) {
  const Shape& shape = weights.shape();
  outputs_ = shape[static_cast<std::size_t>(axis)];
  inputs_ = shape[axis == 0 ? 1 : 0];
  const auto pairs = static_cast<std::size_t>(outputs_ * inputs_);
  rounded_.resize(pairs);
  lost_.resize(pairs);
  const std::int64_t taps = shape.elements() / (outputs_ * inputs_);
  const auto exact = weights.as<float>(), scales = scale.as<float>();
  const auto stored = bytes.as<std::int8_t>();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t o = axis == 0 ? at / taps / inputs_ : at % outputs_;
    const std::int64_t k = axis == 0 ? at / taps % inputs_ : at / outputs_;
    const auto pair = static_cast<std::size_t>(o * inputs_ + k);
    const float rounded = static_cast<float>(stored[i]) * scales[static_cast<std::size_t>(o)];
    rounded_[pair] += rounded;
    lost_[pair] += exact[i] - rounded;
  }
}

std::vector<double> WeightSums::correction(const InputMeans& means) const {
  std::vector<double> result(static_cast<std::size_t>(outputs_));
  for (std::int64_t o = 0; o < outputs_; ++o) {
    const std::int64_t first = o * groups_ / outputs_ * inputs_;
    double sum = 0;
    for (std::int64_t k = 0; k < inputs_; ++k) {
      const auto pair = static_cast<std::size_t>(o * inputs_ + k), at = static_cast<std::size_t>(first + k);
      sum += static_cast<double>(lost_[pair]) * means.rounded[at] +
             (static_cast<double>(lost_[pair]) + rounded_[pair]) * means.lost[at];
    }
    result[static_cast<std::size_t>(o)] = sum;
  }
  return result;
}

bool correct_bias(Node& node, Value* weights, const Node& rounded, std::int64_t axis,
                  const InputMeans& means) {
  ConstantMath math(node);
  Value* correction = computed(math, node, weights, rounded, axis, means);
  if (!correction) return false;
  if (axis != 0) {
    add_behind(node, correction);
    return true;
  }
  if (node.inputs().size() > 2 && node.input(2)) {
    if (!node.input(2)->constant()) return false;
    correction = math.apply("add", {node.input(2), correction});
    if (!correction) return false;
    node.set_input(2, correction);
  } else if (node.inputs().size() > 2) {
    node.set_input(2, correction);
  } else {
    node.add_input(correction);
  }
  return true;
}

} // namespace lanner::passes
