// Layers: normalisation, pooling, resampling, recurrence, dropout.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

void batch_normalization(RuleContext& context) {
  check(context.integer("spatial", 1) == 1, ErrorCode::unsupported, "BatchNormalization with spatial = 0");
  AttributeMap attributes =
      context.attributes("batch_normalization", {"spatial", "is_test", "consumed_inputs"});
  // Before version 14 outputs past the first meant training; inference leaves them out.
  const bool training = context.version >= 14 && context.integer("training_mode", 0) != 0;
  context.set_outputs(*context.emit_node("batch_normalization", context.all_inputs(), std::move(attributes),
                                         training ? context.node.outputs.size() : 1));
}

void dropout(RuleContext& context) {
  if (context.version >= 12) return direct(context);
  // Networks are imported for inference, where dropout is the identity.
  Value* x = context.required(0);
  context.set_outputs(*context.emit_node("dropout", {x}, {}, context.node.outputs.size()));
}

void group_normalization(RuleContext& context) {
  if (context.version >= 21) return direct(context);
  // Version 18 has one scale and bias per group; the newest version one per channel.
  Value* x = context.required(0);
  check(x->type.ranked() && x->type.rank() >= 2 && x->type.dims()[1].is_constant(), ErrorCode::unsupported,
        "GroupNormalization of version 18 needs a known number of channels");
  const std::int64_t channels = x->type.dims()[1].value(), groups = context.integer("num_groups", 1);
  check(groups > 0 && channels % groups == 0, ErrorCode::bad_data, "{} channels do not divide into {} groups",
        channels, groups);
  const auto spread = [&](Value* list) {
    Value* column = context.emit("unsqueeze", {list, context.ints({1})});
    Value* wide = context.emit("expand", {column, context.ints({groups, channels / groups})});
    return context.emit("reshape", {wide, context.ints({channels})});
  };
  context.set_output(0, context.emit("group_normalization",
                                     {x, spread(context.required(1)), spread(context.required(2))},
                                     context.attributes("group_normalization")));
}

Value* scales_of(RuleContext& context) {
  if (context.has_attribute("scales")) {
    const std::vector<double> scales = context.reals("scales");
    std::vector<float> narrow(scales.begin(), scales.end());
    return context.tensor(
        Tensor::from<float>(std::span<const float>(narrow), {static_cast<std::int64_t>(narrow.size())}));
  }
  if (context.has_attribute("width_scale")) {
    const float values[] = {1, 1, static_cast<float>(context.real("height_scale", 1)),
                            static_cast<float>(context.real("width_scale", 1))};
    return context.tensor(Tensor::from<float>(std::span<const float>(values), {4}));
  }
  return context.required(1);
}

/// Whether one of the scales may be on that side of 1.
bool may_scale(const Value* scales, bool down) {
  const Tensor* known = scales->constant();
  if (!known || known->dtype() != DType::f32) return true;
  return std::ranges::any_of(known->as<float>(), [&](float scale) { return down ? scale < 1 : scale > 1; });
}

/// Scales of the axes that shrink, or of the others; 1 elsewhere.
Value* one_way(RuleContext& context, Value* scales, bool down) {
  const Tensor* known = scales->constant();
  if (!known || known->dtype() != DType::f32)
    return context.emit(down ? "min" : "max", {scales, context.scalar(DType::f32, 1)});
  std::vector<float> values;
  for (const float scale : known->as<float>())
    values.push_back(down ? std::min(scale, 1.F) : std::max(scale, 1.F));
  return context.tensor(Tensor::from<float>(std::span<const float>(values), known->shape()));
}

/// The first Resize's text does not say how nearest rounds; its example and onnxruntime agree in rounding up
/// along axes that shrink and down along the others.
Value* nearest_from_corner(RuleContext& context, Value* x, Value* scales) {
  const auto resized = [&](Value* image, bool down) {
    AttributeMap attributes;
    attributes.set("mode", std::string("nearest"));
    attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
    attributes.set("nearest_mode", std::string(down ? "ceil" : "floor"));
    return context.emit("resize", {image, nullptr, one_way(context, scales, down)}, std::move(attributes));
  };
  const bool shrinks = may_scale(scales, true);
  if (shrinks) x = resized(x, true);
  return !shrinks || may_scale(scales, false) ? resized(x, false) : x;
}

/// Upsample and the first Resize: positions scale from the corner.
void upsample(RuleContext& context) {
  const std::string mode = context.string("mode", "nearest");
  Value *x = context.required(0), *scales = scales_of(context);
  if (mode == "nearest") return context.set_output(0, nearest_from_corner(context, x, scales));
  AttributeMap attributes;
  attributes.set("mode", mode == "bilinear" ? std::string("linear") : mode);
  attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  context.set_output(0, context.emit("resize", {x, nullptr, scales}, std::move(attributes)));
}

void resize(RuleContext& context) {
  if (context.version < 11) return upsample(context);
  AttributeMap attributes = context.attributes("resize");
  // A string_view, because GCC 12 warns of a read past the end when a possibly short string is compared.
  const std::string transform = attributes.string("coordinate_transformation_mode", "");
  if (std::string_view(transform) == "tf_half_pixel_for_nn") {
    // (x + 0.5) / scale rounded down is (x + 0.5) / scale - 0.5 rounded to the nearest, halves up.
    check(attributes.string("mode", "nearest") == "nearest" &&
              attributes.string("nearest_mode", "round_prefer_floor") == "floor",
          ErrorCode::unsupported,
          "coordinate_transformation_mode tf_half_pixel_for_nn without nearest_mode floor");
    attributes.set("coordinate_transformation_mode", std::string("half_pixel"));
    attributes.set("nearest_mode", std::string("round_prefer_ceil"));
  }
  std::vector<Value*> inputs = context.all_inputs();
  // An empty tensor as roi or scales means absent.
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Value* value = inputs[i];
    if (value && value->type.is_static() && value->type.shape().elements() == 0) inputs[i] = nullptr;
  }
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  context.set_output(0, context.emit("resize", inputs, std::move(attributes)));
}

/// Before version 20 there were only planes, and modes had other names.
void grid_sample(RuleContext& context) {
  AttributeMap attributes = context.attributes("grid_sample");
  const std::string mode = context.string("mode", "linear");
  if (context.version < 20 && mode == "bilinear") attributes.set("mode", std::string("linear"));
  if (context.version < 20 && mode == "bicubic") attributes.set("mode", std::string("cubic"));
  context.set_output(
      0, context.emit("grid_sample", {context.required(0), context.required(1)}, std::move(attributes)));
}

/// Before version 16 there was one mode, chosen by the attribute output_half_pixel.
void roi_align(RuleContext& context) {
  AttributeMap attributes = context.attributes("roi_align");
  if (context.version < 16)
    attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  context.set_output(0, context.emit("roi_align",
                                     {context.required(0), context.required(1), context.required(2)},
                                     std::move(attributes)));
}

/// Version 1's exponent is a floating-point number.
void lp_pool(RuleContext& context) {
  const std::string op = snake_case(context.node.op);
  AttributeMap attributes = context.attributes(op, {"p"});
  if (context.version == 1)
    attributes.set("p", static_cast<std::int64_t>(context.real("p", 2)));
  else if (context.has_attribute("p"))
    attributes.set("p", context.integer("p", 2));
  context.set_output(0, context.emit(op, {context.required(0)}, std::move(attributes)));
}

Rule recurrent(const char* op) {
  return [op](RuleContext& context) { direct_as(context, op, {"output_sequence"}); };
}

} // namespace

void add_layer_rules(Rules& rules) {
  rules["BatchNormalization"] = batch_normalization;
  rules["Dropout"] = dropout;
  rules["GroupNormalization"] = group_normalization;
  rules["Upsample"] = upsample;
  rules["Resize"] = resize;
  rules["GridSample"] = grid_sample;
  rules["RoiAlign"] = roi_align;
  rules["LpPool"] = rules["GlobalLpPool"] = lp_pool;
  rules["LSTM"] = recurrent("lstm");
  rules["GRU"] = recurrent("gru");
  rules["RNN"] = recurrent("rnn");
}

} // namespace lanner::onnx
