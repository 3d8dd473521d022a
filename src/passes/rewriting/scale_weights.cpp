#include "passes/rewriting/scale_weights.h"

#include <algorithm>
#include <cmath>

#include "graph/op.h"
#include "passes/rewriting/magnitude.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

/// The product or convolution that computes a value, and the `add` of a constant after it, if any.
struct Source {
  Node* anchor = nullptr;
  Node* bias_add = nullptr; ///< Of a product: the canonical form of its bias.
};

Source source_of(const Value* value) {
  for (std::string_view kind : {"conv", "conv_transpose", "matmul"}) {
    if (Node* anchor = sole_producer(value, kind)) return {anchor, nullptr};
  }
  Node* add = sole_producer(value, "add");
  // A constant that broadcasts the product to a larger shape is not a per-channel bias.
  if (!add || !add->input(1)->constant() || !(add->input(0)->type == add->output()->type)) return {};
  return {sole_producer(add->input(0), "matmul"), add};
}

bool is_product(const Node& anchor) {
  return anchor.kind() == "matmul";
}

bool has_real_constants(const Source& source) {
  const Value *weights = source.anchor->input(1),
              *bias = source.bias_add ? source.bias_add->input(1) : source.anchor->input(2);
  const auto real = [](const Value* value) { return value->constant() && is_float(value->type.dtype()); };
  return real(weights) && (!bias || real(bias));
}

std::size_t output_channels(const Node& anchor) {
  const Shape weights = anchor.input(1)->constant()->shape();
  if (is_product(anchor)) return static_cast<std::size_t>(weights.back());
  if (anchor.kind() == "conv") return static_cast<std::size_t>(weights[0]);
  return static_cast<std::size_t>(weights[1] * anchor.attributes.integer("group", 1));
}

/// Which output channel weight number `i` (row-major) belongs to.
class ChannelOf {
public:
  explicit ChannelOf(const Node& anchor) {
    const Shape shape = anchor.input(1)->constant()->shape();
    if (is_product(anchor)) {
      size_ = shape.back();
    } else if (anchor.kind() == "conv") {
      size_ = shape[0];
      inner_ = shape[0] == 0 ? 1 : shape.elements() / shape[0];
    } else {
      // Weights of a transposed convolution are [inputs, outputs / groups, ...].
      size_ = shape[1];
      for (std::size_t i = 2; i < shape.rank(); ++i) inner_ *= shape[i];
      const std::int64_t groups = anchor.attributes.integer("group", 1);
      group_ = std::max<std::int64_t>(1, shape[0] / groups) * size_ * inner_;
    }
  }
  std::size_t operator()(std::int64_t i) const {
    const std::int64_t first = group_ > 0 ? i / group_ * size_ : 0;
    return static_cast<std::size_t>(first + i / inner_ % size_);
  }

private:
  std::int64_t size_ = 1, inner_ = 1, group_ = 0;
};

bool all_finite(const Value* value) {
  const auto numbers = constant_reals(value);
  return numbers && std::ranges::all_of(*numbers, [](double number) { return std::isfinite(number); });
}

/// `scale` reshaped to broadcast over the weights of its channels; `shape` becomes the shape to view the
/// weights in.
Value* broadcast_to_weights(ConstantMath& math, const Node& anchor, Value* scale, Shape& shape) {
  if (is_product(anchor)) return scale;
  const Shape weights = shape;
  Shape channels{weights[0]};
  if (anchor.kind() == "conv_transpose") {
    // [inputs, outputs / groups, ...], with the groups one after the other along the inputs.
    const std::int64_t groups = std::max<std::int64_t>(anchor.attributes.integer("group", 1), 1);
    shape = {groups, weights[0] / groups, weights[1]};
    for (std::size_t i = 2; i < weights.rank(); ++i) shape.push_back(weights[i]);
    channels = {groups, 1, weights[1]};
  }
  while (channels.rank() < shape.rank()) channels.push_back(1);
  return math.reshape(scale, channels);
}

// An f16 or bf16 channel whose largest weight became subnormal would lose visible digits. In wider types a
// channel scaled to almost nothing, as training leaves some, contributes nothing either way.
bool keeps_digits(const Node& anchor, const Value* weights) {
  std::vector<double> largest(output_channels(anchor), 0.0);
  const std::vector<double> numbers = *constant_reals(weights);
  const ChannelOf channel_of(anchor);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& most = largest[channel_of(static_cast<std::int64_t>(i))];
    most = std::max(most, std::abs(numbers[i]));
  }
  return std::ranges::all_of(largest, [](double most) { return is_normal_or_zero(most, DType::f16); });
}

Value* scaled_weights(ConstantMath& math, const Node& anchor, Value* scale) {
  Value* const weights = anchor.input(1);
  const DType type = weights->type.dtype();
  const std::vector<double> numbers = *constant_reals(scale);
  if (!std::ranges::all_of(numbers, [=](double factor) { return is_moderate_size(factor, type); }))
    return nullptr;
  Shape shape = weights->constant()->shape();
  Value* const factors = broadcast_to_weights(math, anchor, scale, shape);
  Value* wide = math.reshape(math.cast(weights, DType::f64), shape);
  wide = math.reshape(math.apply("mul", {wide, factors}), weights->constant()->shape());
  if (wide && type == DType::f16 && !keeps_digits(anchor, wide)) return nullptr;
  Value* const rounded = math.cast(wide, type);
  return rounded && all_finite(rounded) ? rounded : nullptr;
}

Value* moved_bias(ConstantMath& math, const Source& source, Value* bias, Value* scale, Value* shift) {
  const Type& type = source.anchor->output()->type;
  const std::size_t count = output_channels(*source.anchor);
  Value* scaled = nullptr;
  if (bias) {
    const Type& spread = source.bias_add ? source.bias_add->output()->type : bias->type;
    scaled = per_channel(math, bias, spread, spread.rank() - 1, count);
    if (scale) scaled = math.apply("mul", {scaled, scale});
    if (!scaled) return nullptr;
  }
  if (shift) {
    const std::vector<double> added = *constant_reals(shift),
                              before = scaled ? *constant_reals(scaled) : std::vector<double>(count, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      if (added[i] != 0 &&
          !(is_moderate_term(before[i], type.dtype()) && is_moderate_term(added[i], type.dtype())))
        return nullptr;
    }
    scaled = scaled ? math.apply("add", {scaled, shift}) : shift;
  }
  Value* const rounded = math.cast(scaled, type.dtype());
  return rounded && all_finite(rounded) ? rounded : nullptr;
}

void set_bias(const Source& source, Value* bias) {
  Node& anchor = *source.anchor;
  if (source.bias_add) {
    source.bias_add->set_input(1, bias);
  } else if (anchor.own_inputs().size() > 2) {
    anchor.set_input(2, bias);
  } else {
    anchor.add_input(bias);
  }
}

// A product's bias is an `add` after it; the product's value itself stays, so that its uses need no change.
void add_behind(Value* value, Value* bias) {
  Node& anchor = *value->producer();
  Region& region = *anchor.region();
  Graph& graph = region.graph();
  Node* add = region.create(graph.ops().get("add"), std::vector<Value*>{bias, bias}, region.next(&anchor));
  Value* sum = add->add_output(value->name(), value->type);
  add->sources = anchor.sources;
  value->replace_all_uses(sum);
  add->set_input(0, value);
}

} // namespace

std::optional<Channels> scalable_channels(const Value* value) {
  const Source source = source_of(value);
  if (!source.anchor || !has_real_constants(source) || !value->type.ranked()) return std::nullopt;
  const std::size_t rank = value->type.rank();
  if (!is_product(*source.anchor)) return Channels{source.anchor, 1, output_channels(*source.anchor)};
  if (rank < 2 || source.anchor->input(1)->type.rank() < 2) return std::nullopt;
  return Channels{source.anchor, rank - 1, output_channels(*source.anchor)};
}

bool scale_channels(ConstantMath& math, Value* value, Value* scale, Value* shift) {
  const Source source = source_of(value);
  Node& anchor = *source.anchor;
  Value* const bias = source.bias_add ? source.bias_add->input(1) : anchor.input(2);
  Value* const weights = scale ? scaled_weights(math, anchor, scale) : nullptr;
  if (scale && !weights) return false;
  Value* const moved = bias || shift ? moved_bias(math, source, bias, scale, shift) : nullptr;
  if ((bias || shift) && !moved) return false;
  if (weights) {
    Value* const old = anchor.input(1);
    anchor.set_input(1, weights);
    if (old->unused())
      take_name(*weights, *old);
    else
      anchor.region()->graph().rename(weights, old->name());
  }
  if (!moved) return true;
  moved->region()->graph().rename(moved, "bias");
  if (is_product(anchor) && !source.bias_add)
    add_behind(value, moved);
  else
    set_bias(source, moved);
  return true;
}

Value* per_channel(ConstantMath& math, Value* value, const Type& type, std::size_t axis, std::size_t count) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (!tensor || !is_float(tensor->dtype()) || tensor->rank() > type.rank()) return nullptr;
  const std::size_t missing = type.rank() - tensor->rank();
  for (std::size_t i = 0; i < tensor->rank(); ++i) {
    const std::int64_t size = tensor->shape()[i];
    const bool fits = size == 1 || (i + missing == axis && size == static_cast<std::int64_t>(count));
    if (!fits) return nullptr;
  }
  Value* numbers = math.reshape(math.cast(value, DType::f64), {tensor->elements()});
  numbers = math.expand(numbers, {static_cast<std::int64_t>(count)});
  return numbers == value ? math.apply("identity", {value})
                          : numbers; // created by `math`, so before the anchor
}

} // namespace lanner::passes
