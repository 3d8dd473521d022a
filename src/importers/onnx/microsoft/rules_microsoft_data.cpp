// Operators of ONNX Runtime that move data, mostly older forms of ONNX's own (docs/ContribOperators.md).

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// Same as ONNX's newest operator of that name.
void as_onnx(RuleContext& context) {
  direct(context);
}

void pad(RuleContext& context) {
  Emitter emit(context);
  Value* value = context.has(2) ? emit.scalar_of(context.input(2)) : nullptr;
  context.set_output(0, emit("pad", {context.required(0), emit.flat(context.required(1)), value},
                             {{"mode", context.string("mode", "constant")}}));
}

void range(RuleContext& context) {
  Emitter emit(context);
  Value* start = emit.scalar_of(context.required(0));
  Value* step = context.has(2) ? emit.scalar_of(context.input(2)) : emit.number(start, 1);
  context.set_output(0, emit("range", {start, emit.scalar_of(context.required(1)), step}));
}

/// Unique values in order of first appearance; index of each; counts.
void unique(RuleContext& context) {
  AttributeMap attributes;
  attributes.set("sorted", std::int64_t{0});
  const Node* node = context.emit_node("unique", {context.required(0)}, std::move(attributes), 4);
  context.set_output(0, node->output(0));
  context.set_output(1, node->output(2));
  context.set_output(2, node->output(3));
}

void expand_dims(RuleContext& context) {
  Emitter emit(context);
  Value* axis = emit.reshape(emit.cast(context.required(1), DType::i64), {1});
  context.set_output(0, emit("unsqueeze", {context.required(0), axis}));
}

void grid_sample(RuleContext& context) {
  AttributeMap attributes = context.attributes("grid_sample");
  const std::string mode = context.string("mode", "bilinear");
  if (mode == "bilinear") attributes.set("mode", std::string("linear"));
  if (mode == "bicubic") attributes.set("mode", std::string("cubic"));
  context.set_output(
      0, context.emit("grid_sample", {context.required(0), context.required(1)}, std::move(attributes)));
}

void torch_embedding(RuleContext& context) {
  context.set_output(0, Emitter(context).gather(context.required(0), context.required(1), 0));
}

void conv_transpose_with_pads(RuleContext& context) {
  AttributeMap attributes = context.attributes("conv_transpose");
  if (context.has(2)) {
    const Tensor* pads = context.constant(2);
    check(pads && pads->dtype() == DType::i64, ErrorCode::unsupported,
          "input Pads must be known before running");
    attributes.set(
        "pads", std::vector<std::int64_t>(pads->as<std::int64_t>().begin(), pads->as<std::int64_t>().end()));
  }
  std::vector<Value*> inputs = {context.required(0), context.required(1)};
  if (context.has(3)) inputs.push_back(context.input(3));
  context.set_output(0, context.emit("conv_transpose", inputs, std::move(attributes)));
}

/// Distances between the rows of two matrices.
void cdist(RuleContext& context) {
  Emitter emit(context);
  const std::string metric = context.string("metric", "sqeuclidean");
  check(metric == "sqeuclidean" || metric == "euclidean", ErrorCode::unsupported,
        "attribute metric: '{}', expected sqeuclidean or euclidean", metric);
  Value* apart = emit.sub(emit.unsqueeze(context.required(0), {1}), emit.unsqueeze(context.required(1), {0}));
  Value* squares = emit("reduce_sum_square", {apart, context.ints({2})}, {{"keepdims", std::int64_t{0}}});
  context.set_output(0, metric == "euclidean" ? emit("sqrt", {squares}) : squares);
}

void is_all_finite(RuleContext& context) {
  Emitter emit(context);
  const bool nan = context.integer("isinf_only", 0) == 0, inf = context.integer("isnan_only", 0) == 0;
  check(nan || inf, ErrorCode::bad_data, "both of isinf_only and isnan_only are set");
  Value* found = nullptr;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    Value* x = emit.cast(context.required(i), DType::f32);
    Value* bad = !nan ? emit("is_inf", {x}) : emit("is_nan", {x});
    if (nan && inf) bad = emit("or", {bad, emit("is_inf", {x})});
    Value* any = emit("reduce_max", {emit.flat(emit.cast(bad, DType::i32)), context.ints({0})},
                      {{"keepdims", std::int64_t{0}}});
    found = found ? emit("max", {found, any}) : any;
  }
  check(found != nullptr, ErrorCode::bad_data, "it has no inputs");
  context.set_output(0, emit("equal", {found, emit.number(found, 0)}));
}

/// Sampling positions of each box along one axis of an image.
struct Samples {
  Value* positions; ///< [boxes, count], clamped to the image.
  Value* outside;   ///< Which positions were outside, [boxes, count].
};

Samples samples_of(RuleContext& context, Value* first, Value* last, Value* size, std::int64_t count) {
  Emitter emit(context);
  Value* most = emit.cast(emit.plus(size, -1), first->type.dtype());
  Value* positions = nullptr;
  if (count > 1) {
    Value* step = emit.times(emit.mul(emit.sub(last, first), most), 1 / static_cast<double>(count - 1));
    Value* counts = emit.cast(emit.count(context.ints({count})), first->type.dtype());
    positions = emit.add(emit.mul(first, most), emit.mul(step, counts));
  } else {
    positions = emit.times(emit.mul(emit.add(first, last), most), 0.5);
  }
  Value* outside =
      emit("or", {emit("less", {positions, emit.number(positions, 0)}), emit("greater", {positions, most})});
  return {emit("min", {emit("max", {positions, emit.number(positions, 0)}), most}), outside};
}

/// Pixels [boxes, height, width, channels] of `image` [n, h, w, c] at integer positions.
Value* pixels(RuleContext& context, Value* image, Value* batch, Value* rows, Value* columns, Value* shape) {
  Emitter emit(context);
  const auto spread = [&](Value* x, std::vector<std::int64_t> axes) {
    return emit("expand", {emit.unsqueeze(emit.cast(x, DType::i64), std::move(axes)), shape});
  };
  Value* positions =
      emit.concat({spread(batch, {1, 2, 3}), spread(rows, {2, 3}), spread(columns, {1, 3})}, 3);
  return emit("gather_nd", {image, positions});
}

/// Bilinear interpolation between four pixels, first along columns.
Value* between_pixels(RuleContext& context, Value* image, Value* batch, Value* rows, Value* columns,
                      Value* shape) {
  Emitter emit(context);
  Value *top = emit("floor", {rows}), *left = emit("floor", {columns});
  Value *bottom = emit("ceil", {rows}), *right = emit("ceil", {columns});
  const auto mixed = [&](Value* a, Value* b, Value* part) {
    return emit.add(a, emit.mul(emit.sub(b, a), part));
  };
  Value* across = emit.unsqueeze(emit.sub(columns, left), {1, 3});
  Value* down = emit.unsqueeze(emit.sub(rows, top), {2, 3});
  const auto line = [&](Value* row) {
    return mixed(pixels(context, image, batch, row, left, shape),
                 pixels(context, image, batch, row, right, shape), across);
  };
  return mixed(line(top), line(bottom), down);
}

void crop_and_resize(RuleContext& context) {
  Emitter emit(context);
  Value *x = context.required(0), *batch = context.required(2);
  const Tensor* sizes = context.constant(3);
  check(sizes && sizes->dtype() == DType::i32 && sizes->elements() == 2, ErrorCode::unsupported,
        "input crop_size must be two numbers that are known before running");
  const std::int64_t height = sizes->as<std::int32_t>()[0], width = sizes->as<std::int32_t>()[1];
  check(height >= 1 && width >= 1, ErrorCode::bad_data, "crop_size is {} by {}, expected at least 1", height,
        width);
  const DType type = x->type.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const std::vector<Value*> corners = emit.split(emit.cast(context.required(1), type), 1, {1, 1, 1, 1});
  const Samples rows = samples_of(context, corners[0], corners[2], emit.size(x, 2), height);
  const Samples columns = samples_of(context, corners[1], corners[3], emit.size(x, 3), width);
  Value* shape = emit.concat({emit.size(batch, 0), context.ints({height, width, 1})}, 0);
  Value* image = emit.cast(emit.transpose(x, {0, 2, 3, 1}), type);
  const std::string mode = context.string("mode", "bilinear");
  check(mode == "bilinear" || mode == "nearest", ErrorCode::bad_data,
        "attribute mode: '{}', expected bilinear or nearest", mode);
  const auto nearest = [&](Value* positions) { return emit("floor", {emit.plus(positions, 0.5)}); };
  Value* y = mode == "bilinear"
                 ? between_pixels(context, image, batch, rows.positions, columns.positions, shape)
                 : pixels(context, image, batch, nearest(rows.positions), nearest(columns.positions), shape);
  Value* outside =
      emit("or", {emit.unsqueeze(rows.outside, {2, 3}), emit.unsqueeze(columns.outside, {1, 3})});
  y = emit.where(outside, emit.number(y, context.real("extrapolation_value", 0)), y);
  context.set_output(0, emit.cast(emit.transpose(y, {0, 3, 1, 2}), x->type.dtype()));
}

/// ORT_ENABLE_ALL lays weights and images out for the machine that it runs on, and the file does not say how.
void refuse_blocked_layout(RuleContext&) {
  fail(ErrorCode::unsupported,
       "ONNX Runtime optimised this model for one machine (ORT_ENABLE_ALL); write it with "
       "graph_optimization_level = ORT_ENABLE_EXTENDED, or give the model as it was before");
}

} // namespace

void add_microsoft_data_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  for (const char* name : {"GatherND", "Trilu"}) rules[domain + name] = as_onnx;
  rules[domain + "Pad"] = pad;
  rules[domain + "Range"] = range;
  rules[domain + "Unique"] = unique;
  rules[domain + "ExpandDims"] = expand_dims;
  rules[domain + "GridSample"] = grid_sample;
  rules[domain + "TorchEmbedding"] = torch_embedding;
  rules[domain + "ConvTransposeWithDynamicPads"] = conv_transpose_with_pads;
  rules[domain + "CDist"] = cdist;
  rules[domain + "IsAllFinite"] = is_all_finite;
  rules[domain + "CropAndResize"] = crop_and_resize;
  rules[domain + "Inverse"] = [](RuleContext& context) { direct_as(context, "ms.inverse"); };
  for (const char* name : {"Conv", "MaxPool", "GlobalMaxPool", "AveragePool", "GlobalAveragePool", "Upsample",
                           "ReorderInput", "ReorderOutput"})
    rules[domain + "nchwc." + name] = refuse_blocked_layout;
}

} // namespace lanner::onnx
