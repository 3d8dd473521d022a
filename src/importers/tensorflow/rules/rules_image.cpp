// Resizing and boxes.

#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

/// How a result's pixel coordinates map to the source.
void set_coordinates(const RuleContext& context, AttributeMap& attributes) {
  const bool corners = context.integer("align_corners", 0) != 0,
             centers = context.integer("half_pixel_centers", 0) != 0;
  check(!corners || !centers, ErrorCode::bad_data, "align_corners and half_pixel_centers exclude each other");
  attributes.set("coordinate_transformation_mode", std::string(corners   ? "align_corners"
                                                               : centers ? "half_pixel"
                                                                         : "asymmetric"));
  attributes.set("nearest_mode", std::string(corners || centers ? "round_prefer_ceil" : "floor"));
}

constexpr const char* exact_weights =
    "weights are computed; TensorFlow rounds places to 1/1024 and reads a table";

Rule resize(const char* mode) {
  return [mode](RuleContext& context) {
    const DataFormat format;
    AttributeMap attributes;
    attributes.set("mode", std::string(mode));
    attributes.set("axes", std::vector<std::int64_t>{2, 3});
    set_coordinates(context, attributes);
    if (mode == std::string_view("cubic")) {
      const bool centers = context.integer("half_pixel_centers", 0) != 0;
      attributes.set("cubic_coeff_a", centers ? -0.5 : -0.75);
      attributes.set("exclude_outside", std::int64_t{centers});
    }
    Value* x = context.required(0);
    if (mode != std::string_view("nearest")) x = cast(context, x, DType::f32);
    Value* y =
        context.emit("resize", {channels_first(context, x, format), nullptr, nullptr, integers(context, 1)},
                     std::move(attributes));
    context.set_output(0, as_source(context, y, format));
  };
}

Value* one_element(RuleContext& context, Value* value) {
  return context.emit("reshape", {value, context.ints({1})});
}

/// The last of a selected box's three numbers is its index.
Value* selected_indices(RuleContext& context, Value* score_threshold) {
  Value* boxes =
      context.emit("unsqueeze", {cast(context, context.required(0), DType::f32), context.ints({0})});
  Value* scores =
      context.emit("unsqueeze", {cast(context, context.required(1), DType::f32), context.ints({0, 1})});
  Value* overlap = context.node.op == "NonMaxSuppression"
                       ? context.scalar(DType::f32, context.real("iou_threshold", 0.5))
                       : cast(context, context.required(3), DType::f32);
  std::vector<Value*> inputs{boxes, scores, one_element(context, integers(context, 2)),
                             one_element(context, overlap)};
  if (score_threshold) inputs.push_back(one_element(context, cast(context, score_threshold, DType::f32)));
  Value* selected = context.emit("non_max_suppression", inputs);
  Value* column = context.emit("slice", {selected, context.ints({2}), context.ints({3}), context.ints({1})});
  return context.emit("squeeze", {column, context.ints({1})});
}

void set_selected(RuleContext& context, Value* places) {
  context.set_output(0, cast(context, places, DType::i32));
}

void suppression(RuleContext& context) {
  set_selected(context, selected_indices(context, context.inputs() > 4 ? context.required(4) : nullptr));
}

/// Pads the selected indices with zeros to the number asked for, where the node wants that.
Value* filled(RuleContext& context, Value* values, Value* count) {
  if (context.integer("pad_to_max_output_size", 0) == 0) return values;
  Value* missing = context.emit("sub", {one_element(context, integers(context, 2)), count});
  Value* pads = context.emit("concat", {context.ints({0}), missing}, with("axis", std::int64_t{0}));
  return context.emit("pad", {values, pads, context.scalar(values->type.dtype(), 0)});
}

constexpr const char* soft_suppression =
    "soft suppression (soft_nms_sigma other than a constant 0); use NonMaxSuppressionV4";

bool is_zero(const Tensor* number) {
  if (!number || number->elements() != 1) return false;
  Tensor wide = Tensor::allocate(DType::f64, number->shape());
  copy_tensor(*number, wide);
  return wide.as<double>()[0] == 0;
}

void counted_suppression(RuleContext& context) {
  Value* places = selected_indices(context, context.required(4));
  Value* count = context.emit("shape", {places});
  Value* total = context.emit("squeeze", {count, context.ints({0})});
  const bool scored = context.node.op == "NonMaxSuppressionV5";
  if (scored) {
    check(is_zero(context.constant(5)), ErrorCode::unsupported, "{}", soft_suppression);
    Value* scores = context.emit("gather", {context.required(1), places}, with("axis", std::int64_t{0}));
    context.set_output(1, filled(context, scores, count));
  }
  set_selected(context, filled(context, places, count));
  context.set_output(scored ? 2 : 1, cast(context, total, DType::i32));
}

} // namespace

void add_image_rules(Rules& rules) {
  rules["ResizeBilinear"] = resize("linear");
  rules["ResizeNearestNeighbor"] = resize("nearest");
  rules["ResizeBicubic"] = {resize("cubic"), {}, {exact_weights}};
  for (const char* name : {"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3"})
    rules[name] = suppression;
  rules["NonMaxSuppressionV4"] = counted_suppression;
  rules["NonMaxSuppressionV5"] = {counted_suppression, {soft_suppression}};
}

} // namespace lanner::tensorflow
