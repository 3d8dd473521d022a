// Boxes: suppression for each class, and crops of an image.

#include <algorithm>
#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* open_classes =
    "the numbers of boxes and classes and the limits on results must be known before running";
constexpr const char* other_method = "a method other than bilinear or nearest";
constexpr const char* open_crop = "crop_size must be known before running; make it a constant";

std::int64_t required_size(const Value* value, std::size_t d) {
  const auto size = known_size(value, d);
  check(size && *size >= 1 && *size < (1 << 28), ErrorCode::unsupported, "{}", open_classes);
  return *size;
}

std::int64_t known_count(const RuleContext& context, std::size_t i) {
  check(context.constant(i) != nullptr, ErrorCode::unsupported, "{}", open_classes);
  const std::int64_t count = known_integer(context, i);
  check(count >= 1 && count < (1 << 28), ErrorCode::bad_data, "input {} is {}", i, count);
  return count;
}

Value* listed(RuleContext& context, Value* value) {
  return reshaped(context, value, {1});
}

/// Scores of the boxes that suppression keeps, others minus infinity: [batch, classes * boxes]. Each class of
/// each image is an image of its own to our operator.
Value* kept_scores(RuleContext& context, Value* boxes, Value* scores, std::int64_t classes,
                   std::int64_t count) {
  const bool shared = required_size(boxes, 2) == 1 && classes > 1;
  Value* by_class = transpose(context, boxes, {0, 2, 1, 3});
  if (shared) by_class = context.emit("expand", {by_class, context.ints({1, classes, 1, 1})});
  by_class = reshaped(context, by_class, {-1, count, 4});
  Value* rows = reshaped(context, transpose(context, scores, {0, 2, 1}), {-1, 1, count});
  Value* selected = context.emit(
      "non_max_suppression", {by_class, rows, listed(context, integers(context, 2)),
                              listed(context, context.required(4)), listed(context, context.required(5))});
  Value* lists = reshaped(context, rows, {-1, count});
  Value* places = context.emit("gather", {selected, context.ints({0, 2})}, with("axis", std::int64_t{1}));
  Value* none = context.emit("expand", {context.scalar(DType::f32, -std::numeric_limits<double>::infinity()),
                                        context.emit("shape", {lists})});
  Value* kept = context.emit("scatter_nd", {none, places, context.emit("gather_nd", {lists, places})});
  return reshaped(context, kept, {-1, classes * count});
}

/// Zeros behind the last result, along dim 1.
Value* padded_to(RuleContext& context, Value* value, std::int64_t missing) {
  if (missing <= 0) return value;
  std::vector<std::int64_t> pads(2 * value->type.rank(), 0);
  pads[value->type.rank() + 1] = missing;
  return context.emit("pad", {value, context.ints(pads)});
}

void combined_suppression(RuleContext& context) {
  Value *boxes = context.required(0), *scores = context.required(1);
  check(rank_of(context, 0) == 4 && rank_of(context, 1) == 3, ErrorCode::bad_data,
        "expected boxes of rank 4 and scores of rank 3");
  const std::int64_t count = required_size(scores, 1), classes = required_size(scores, 2),
                     own = required_size(boxes, 2);
  check(own == 1 || own == classes, ErrorCode::bad_data, "boxes of {} classes, scores of {}", own, classes);
  const std::int64_t each = known_count(context, 2), most = known_count(context, 3);
  const bool padded_by_class = context.integer("pad_per_class", 0) != 0;
  const std::int64_t total = padded_by_class ? std::min(most, each * classes) : most;
  const std::int64_t chosen = std::min(total, classes * count);

  Value* kept = kept_scores(context, boxes, scores, classes, count);
  Node* best = context.emit_node("top_k", {kept, context.ints({chosen})}, with("axis", std::int64_t{-1}), 2);
  Value *values = best->output(0), *places = best->output(1);
  Value* valid =
      context.emit("greater", {values, context.scalar(DType::f32, -std::numeric_limits<double>::infinity())});
  Value* box_count = context.scalar(DType::i64, static_cast<double>(count));
  Value *box = context.emit("mod", {places, box_count}), *kind = context.emit("div", {places, box_count});
  Value* place =
      own == 1 ? box
               : context.emit(
                     "add", {context.emit("mul", {box, context.scalar(DType::i64, static_cast<double>(own))}),
                             kind});
  Value* flat = reshaped(context, boxes, {-1, count * own, 4});
  Value* found = context.emit("gather_nd", {flat, unsqueezed(context, place, {-1})},
                              with("batch_dims", std::int64_t{1}));
  if (context.integer("clip_boxes", 1) != 0)
    found = context.emit("clip", {found, context.scalar(DType::f32, 0), context.scalar(DType::f32, 1)});
  Value* zero = context.scalar(DType::f32, 0);
  const auto result = [&](std::size_t i, Value* condition, Value* value) {
    context.set_output(i,
                       padded_to(context, context.emit("where", {condition, value, zero}), total - chosen));
  };
  result(0, unsqueezed(context, valid, {-1}), found);
  result(1, valid, values);
  result(2, valid, cast(context, kind, DType::f32));
  context.set_output(3, context.emit("reduce_sum", {cast(context, valid, DType::i32), context.ints({1})},
                                     with("keepdims", std::int64_t{0})));
}

// Crops: sample i of an axis lies at first + i * step pixels; where that is outside of the image, the result
// is a given number.

struct Axis {
  Value *first, *step, *last; ///< Per box; `last` is the image's last pixel.
  std::int64_t count;
};

Value* column(RuleContext& context, Value* table, std::int64_t i) {
  return reshaped(context,
                  context.emit("slice", {table, context.ints({i}), context.ints({i + 1}), context.ints({1})}),
                  {-1});
}

Axis axis_of(RuleContext& context, Value* boxes, std::int64_t dim, std::int64_t count) {
  const auto number = [&](double value) { return context.scalar(DType::f32, value); };
  Value* size = context.emit("gather", {context.emit("shape", {context.required(0)}),
                                        context.scalar(DType::i64, static_cast<double>(dim))});
  Value* last = context.emit("sub", {cast(context, size, DType::f32), number(1)});
  // In TensorFlow's order: nearest pixels depend on the last digit.
  Value *low = column(context, boxes, dim - 1), *high = column(context, boxes, dim + 1);
  Value* length = context.emit("mul", {context.emit("sub", {high, low}), last});
  if (count > 1) {
    Value* step = context.emit("div", {length, number(static_cast<double>(count - 1))});
    return {context.emit("mul", {low, last}), step, last, count};
  }
  Value* middle = context.emit("mul", {context.emit("add", {low, high}), number(0.5)});
  return {context.emit("mul", {middle, last}), length, last, count};
}

/// [boxes, samples]: places in pixels.
Value* places(RuleContext& context, const Axis& axis) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < axis.count; ++i) numbers.push_back(static_cast<float>(i));
  Value* steps = context.emit("mul", {unsqueezed(context, axis.step, {1}),
                                      context.tensor(Tensor::from<float>(numbers, {axis.count}))});
  return context.emit("add", {unsqueezed(context, axis.first, {1}), steps});
}

Value* is_inside(RuleContext& context, const Axis& axis, Value* place) {
  return context.emit("and", {context.emit("greater_or_equal", {place, context.scalar(DType::f32, 0)}),
                              context.emit("less_or_equal", {place, axis.last})});
}

/// By roi_align: one sample in the middle of each cell of a box that reaches half a step further.
Value* bilinear_crops(RuleContext& context, const Axis& y, const Axis& x, Value* of_box) {
  const auto edge = [&](const Axis& axis, double cells) {
    // Our pixels have their middle at a half.
    Value* place = context.emit(
        "add", {axis.first, context.emit("mul", {axis.step, context.scalar(DType::f32, cells)})});
    return unsqueezed(context, context.emit("add", {place, context.scalar(DType::f32, 0.5)}), {1});
  };
  Value* rois = context.emit("concat",
                             {edge(x, -0.5), edge(y, -0.5), edge(x, static_cast<double>(x.count) - 0.5),
                              edge(y, static_cast<double>(y.count) - 0.5)},
                             with("axis", std::int64_t{1}));
  AttributeMap attributes = with("output_height", y.count);
  attributes.set("output_width", x.count);
  attributes.set("sampling_ratio", std::int64_t{1});
  const DataFormat format;
  Value* image = channels_first(context, cast(context, context.required(0), DType::f32), format);
  return as_source(context, context.emit("roi_align", {image, rois, of_box}, std::move(attributes)), format);
}

Value* nearest_crops(RuleContext& context, const Axis& y, const Axis& x, Value* of_box) {
  const auto nearest = [&](const Axis& axis) {
    Value* half_up = context.emit(
        "floor", {context.emit("add", {places(context, axis), context.scalar(DType::f32, 0.5)})});
    Value* inside =
        context.emit("max", {context.emit("min", {half_up, axis.last}), context.scalar(DType::f32, 0)});
    return cast(context, inside, DType::i64);
  };
  Value* sizes =
      context.emit("concat", {context.emit("shape", {of_box}), context.ints({y.count, x.count, 1})},
                   with("axis", std::int64_t{0}));
  const auto all = [&](Value* index, std::vector<std::int64_t> axes) {
    return context.emit("expand", {unsqueezed(context, index, std::move(axes)), sizes});
  };
  Value* index =
      context.emit("concat", {all(of_box, {1, 2, 3}), all(nearest(y), {2, 3}), all(nearest(x), {1, 3})},
                   with("axis", std::int64_t{3}));
  return context.emit("gather_nd", {cast(context, context.required(0), DType::f32), index});
}

void crop_and_resize(RuleContext& context) {
  check(context.constant(3) != nullptr, ErrorCode::unsupported, "{}", open_crop);
  const std::vector<std::int64_t> size = known_integers(context, 3);
  check(size.size() == 2 && size[0] >= 1 && size[1] >= 1 && size[0] <= 65536 && size[1] <= 65536,
        ErrorCode::bad_data, "crop_size: expected two sizes");
  Value *boxes = context.required(1), *of_box = integers(context, 2);
  const Axis y = axis_of(context, boxes, 1, size[0]), x = axis_of(context, boxes, 2, size[1]);
  const std::string method = context.string("method", "bilinear");
  check(method == "bilinear" || method == "nearest", ErrorCode::unsupported, "{}", other_method);
  Value* crops =
      method == "nearest" ? nearest_crops(context, y, x, of_box) : bilinear_crops(context, y, x, of_box);
  Value* rows = unsqueezed(context, is_inside(context, y, places(context, y)), {2, 3});
  Value* columns = unsqueezed(context, is_inside(context, x, places(context, x)), {1, 3});
  context.set_output(
      0, context.emit("where", {context.emit("and", {rows, columns}), crops,
                                context.scalar(DType::f32, context.real("extrapolation_value", 0))}));
}

} // namespace

void add_detection_rules(Rules& rules) {
  rules["CombinedNonMaxSuppression"] = {combined_suppression, {open_classes}};
  rules["CropAndResize"] = {crop_and_resize, {open_crop, other_method}};
}

} // namespace lanner::tensorflow
