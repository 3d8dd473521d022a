#include "passes/scale_weights.h"

#include <algorithm>
#include <cmath>

#include "graph/op.h"
#include "passes/magnitude.h"
#include "passes/rewrite.h"

namespace lanner::passes {

namespace {

/// The product or convolution behind a value, and the `add` of a constant between them, if any.
struct Source {
  Node* anchor = nullptr;
  Node* bias_add = nullptr; ///< Of a product: the canonical place of its bias.
};

Source source_of(const Value* value) {
  for (std::string_view kind : {"conv", "conv_transpose", "matmul"}) {
    if (Node* anchor = sole_producer(value, kind)) return {anchor, nullptr};
  }
  Node* add = sole_producer(value, "add");
  // A constant that makes the sum larger than the product is no bias of its channels.
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

std::optional<Tensor> rounded(const std::vector<double>& values, DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::allocate(dtype, shape);
  copy_tensor(Tensor::from<double>(values, shape), tensor);
  Tensor back = Tensor::allocate(DType::f64, shape);
  copy_tensor(tensor, back);
  for (double value : back.as<double>()) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return tensor;
}

double at(std::span<const double> values, std::size_t i, double otherwise) {
  return values.empty() ? otherwise : values[i];
}

// A half's channel whose largest weight became subnormal would have lost digits that show. In wider types a
// channel that is scaled to nothing, as training leaves some, gives nothing either way.
std::optional<Tensor> scaled_weights(const Node& anchor, std::span<const double> scale) {
  const DType type = anchor.input(1)->type.dtype();
  for (const double factor : scale) {
    if (!is_moderate_size(factor, type)) return std::nullopt;
  }
  std::vector<double> weights = *constant_reals(anchor.input(1)), largest(output_channels(anchor), 0.0);
  const ChannelOf channel_of(anchor);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t channel = channel_of(static_cast<std::int64_t>(i));
    weights[i] *= at(scale, channel, 1);
    largest[channel] = std::max(largest[channel], std::abs(weights[i]));
  }
  for (const double weight : largest) {
    if (type == DType::f16 && !is_normal_or_zero(weight, type)) return std::nullopt;
  }
  return rounded(weights, type, anchor.input(1)->constant()->shape());
}

std::optional<Tensor> moved_bias(const Source& source, const Value* bias, std::span<const double> scale,
                                 std::span<const double> shift) {
  const std::size_t count = output_channels(*source.anchor);
  std::vector<double> values(count, 0.0);
  if (bias) {
    const auto old = source.bias_add ? per_channel(bias, source.bias_add->output()->type,
                                                   source.bias_add->output()->type.rank() - 1, count)
                                     : constant_reals(bias);
    if (!old || old->size() != count) return std::nullopt;
    values = *old;
  }
  const DType type = source.anchor->output()->type.dtype();
  for (std::size_t i = 0; i < count; ++i) {
    const double scaled = values[i] * at(scale, i, 1), added = at(shift, i, 0);
    if (added != 0 && !(is_moderate_term(scaled, type) && is_moderate_term(added, type))) return std::nullopt;
    values[i] = scaled + added;
  }
  return rounded(values, type, {static_cast<std::int64_t>(count)});
}

void set_bias(const Source& source, Tensor bias) {
  Node& anchor = *source.anchor;
  Node& before = source.bias_add ? *source.bias_add : anchor;
  Value* constant = before.region()->graph().constant(std::move(bias), "bias", &before);
  if (source.bias_add) {
    source.bias_add->set_input(1, constant);
  } else if (anchor.own_inputs().size() > 2) {
    anchor.set_input(2, constant);
  } else {
    anchor.add_input(constant);
  }
}

// A product's bias is an `add` behind it; the value itself stays what it was, so that its uses need no
// change.
void add_behind(Value* value, Tensor bias) {
  Node& anchor = *value->producer();
  Region& region = *anchor.region();
  Graph& graph = region.graph();
  Node* const next = region.next(&anchor);
  Value* constant = graph.constant(std::move(bias), "bias", next);
  Node* add = region.create(graph.ops().get("add"), std::vector<Value*>{constant, constant}, next);
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
  if (!is_product(*source.anchor)) return Channels{1, output_channels(*source.anchor)};
  if (rank < 2 || source.anchor->input(1)->type.rank() < 2) return std::nullopt;
  return Channels{rank - 1, output_channels(*source.anchor)};
}

bool scale_channels(Value* value, std::span<const double> scale, std::span<const double> shift) {
  const Source source = source_of(value);
  Node& anchor = *source.anchor;
  const Value* bias = source.bias_add ? source.bias_add->input(1) : anchor.input(2);
  std::optional<Tensor> weights, moved;
  if (!scale.empty()) {
    weights = scaled_weights(anchor, scale);
    if (!weights) return false;
  }
  const bool biased = bias || !shift.empty();
  if (biased) {
    moved = moved_bias(source, bias, scale, shift);
    if (!moved) return false;
  }
  if (weights) {
    Value* const old = anchor.input(1);
    Value* const made = anchor.region()->graph().constant(std::move(*weights), old->name(), &anchor);
    anchor.set_input(1, made);
    if (old->unused()) take_name(*made, *old);
  }
  if (biased && is_product(anchor) && !source.bias_add) {
    add_behind(value, std::move(*moved));
  } else if (biased) {
    set_bias(source, std::move(*moved));
  }
  return true;
}

std::optional<std::vector<double>> per_channel(const Value* value, const Type& type, std::size_t axis,
                                               std::size_t count) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (!tensor || !is_float(tensor->dtype()) || tensor->rank() > type.rank()) return std::nullopt;
  const std::size_t missing = type.rank() - tensor->rank();
  for (std::size_t i = 0; i < tensor->rank(); ++i) {
    const std::int64_t size = tensor->shape()[i];
    const bool fits = size == 1 || (i + missing == axis && size == static_cast<std::int64_t>(count));
    if (!fits) return std::nullopt;
  }
  auto values = constant_reals(value);
  if (values && values->size() == 1) values->assign(count, values->front());
  return values;
}

} // namespace lanner::passes
