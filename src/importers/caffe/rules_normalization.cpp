// Normalisation, scales and biases.

#include <vector>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/caffe/rules.h"

namespace lanner::caffe {
namespace {

Value* number(RuleContext& context, double value) {
  return context.scalar(DType::f32, value);
}

/// WITHIN_CHANNEL: neighbours are pixels of the same plane, and padding counts as zeros.
void within_channel(RuleContext& context, std::int64_t size) {
  Value* x = context.required(0);
  AttributeMap window;
  window.set("kernel_shape", std::vector<std::int64_t>{size, size});
  window.set("pads", std::vector<std::int64_t>(4, (size - 1) / 2));
  window.set("count_include_pad", std::int64_t{1});
  Value* mean = context.emit("average_pool", {context.emit("mul", {x, x})}, std::move(window));
  Value* sum = context.emit(
      "add", {context.emit("mul", {mean, number(context, context.real("alpha", 1))}), number(context, 1)});
  Value* factor = context.emit("pow", {sum, number(context, -context.real("beta", 0.75))});
  context.set_output(0, context.emit("mul", {x, factor}));
}

void lrn(RuleContext& context) {
  const std::int64_t size = context.integer("local_size", 5);
  check(size >= 1 && size % 2 == 1 && size < (1 << 16), ErrorCode::bad_data,
        "local_size is {}, expected an odd number", size);
  check(rank_of(context) == 4, ErrorCode::unsupported, "expected an input of four dims");
  if (context.integer("norm_region", 0) == 1) return within_channel(context, size);
  AttributeMap attributes;
  attributes.set("size", size);
  attributes.set("alpha", context.real("alpha", 1));
  attributes.set("beta", context.real("beta", 0.75));
  attributes.set("bias", context.real("k", 1));
  context.set_output(0, context.emit("lrn", {context.required(0)}, std::move(attributes)));
}

/// Blobs are running sums; the third is the number to divide them by.
void batch_norm(RuleContext& context) {
  check(context.integer("use_global_stats", 1) != 0, ErrorCode::unsupported,
        "use_global_stats: false is for training");
  const std::int64_t channels = blob(context, 0).elements();
  check(blob(context, 1).elements() == channels && blob(context, 2).elements() == 1, ErrorCode::bad_data,
        "expected blobs of {}, {} and 1 values", channels, channels);
  const float count = blob(context, 2).as<float>()[0];
  const float factor = count == 0 ? 0.0f : 1.0f / count;
  const auto divided = [&](std::size_t i) {
    return context.emit("mul", {blob(context, i, {channels}), context.tensor(Tensor::scalar(factor))});
  };
  const auto all = [&](float value) {
    return context.tensor(
        Tensor::from<float>(std::vector<float>(static_cast<std::size_t>(channels), value), {channels}));
  };
  context.set_output(0, context.emit("batch_normalization",
                                     {context.required(0), all(1), all(0), divided(0), divided(1)},
                                     with("epsilon", context.real("eps", 1e-5))));
}

/// Operand `i` of a layer that works along the axes from `axis` on: the second input, else a trained blob.
Value* along_axes(RuleContext& context, std::size_t blob_index, bool from_input) {
  const auto rank = static_cast<std::int64_t>(rank_of(context));
  const std::int64_t axis = axis_of(context, "axis", 1);
  if (from_input) {
    const auto own = static_cast<std::int64_t>(rank_of(context, 1));
    check(axis + own <= rank, ErrorCode::bad_data, "the second input has {} dims from axis {} of {}", own,
          axis, rank);
    return unsqueezed(context, context.required(1), static_cast<std::size_t>(rank - axis - own));
  }
  const std::int64_t given = context.integer("num_axes", 1), axes = given == -1 ? rank - axis : given;
  check(axes >= 0 && axes <= rank - axis, ErrorCode::bad_data, "num_axes {} from axis {} of {} dims", given,
        axis, rank);
  Shape shape;
  for (std::int64_t d = axis; d < axis + axes; ++d) {
    const auto size = context.required(0)->type.dims()[static_cast<std::size_t>(d)].constant();
    check(size.has_value(), ErrorCode::unsupported, "dim {} of its input must be known before running", d);
    shape.push_back(*size);
  }
  return unsqueezed(context, blob(context, blob_index, shape), static_cast<std::size_t>(rank - axis - axes));
}

void scale(RuleContext& context) {
  const bool from_input = context.inputs() > 1;
  Value* factor = along_axes(context, 0, from_input);
  Value* y = context.emit("mul", {context.required(0), factor});
  if (context.integer("bias_term", 0) != 0) {
    const std::size_t at = from_input ? 0 : 1;
    const Tensor& bias = blob(context, at);
    check(factor->type.is_static() && factor->type.shape().elements() == bias.elements(), ErrorCode::bad_data,
          "trained blob {}: {} does not fit the scale", at, bias.shape().to_string());
    y = context.emit("add", {y, blob(context, at, factor->type.shape())});
  }
  context.set_output(0, y);
}

void bias(RuleContext& context) {
  context.set_output(
      0, context.emit("add", {context.required(0), along_axes(context, 0, context.inputs() > 1)}));
}

void mean_variance(RuleContext& context) {
  const std::int64_t first = context.integer("across_channels", 0) != 0 ? 1 : 2;
  std::vector<std::int64_t> axes;
  for (std::int64_t d = first; d < static_cast<std::int64_t>(rank_of(context)); ++d) axes.push_back(d);
  Value* x = context.required(0);
  Value* centred = context.emit("sub", {x, context.emit("reduce_mean", {x, context.ints(axes)})});
  if (context.integer("normalize_variance", 1) != 0) {
    Value* square = context.emit("mul", {centred, centred});
    Value* deviation = context.emit("sqrt", {context.emit("reduce_mean", {square, context.ints(axes)})});
    centred = context.emit(
        "div", {centred, context.emit("add", {deviation, number(context, context.real("eps", 1e-9))})});
  }
  context.set_output(0, centred);
}

} // namespace

void add_normalization_rules(Rules& rules) {
  rules["LRN"] = lrn;
  rules["BatchNorm"] = batch_norm;
  rules["Scale"] = scale;
  rules["Bias"] = bias;
  rules["MVN"] = mean_variance;
}

} // namespace lanner::caffe
