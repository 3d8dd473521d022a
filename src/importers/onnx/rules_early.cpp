// Experimental operators of ONNX's first versions, which networks for Windows ML still use. ONNX removed them
// in operator set 10.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

void affine(RuleContext& context) {
  Emitter emit(context);
  Value* scaled = emit.times(context.required(0), context.real("alpha", 1));
  context.set_output(0, emit("identity", {emit.plus(scaled, context.real("beta", 0))}));
}

void scale(RuleContext& context) {
  Emitter emit(context);
  context.set_output(0, emit("identity", {emit.times(context.required(0), context.real("scale", 1))}));
}

void image_scaler(RuleContext& context) {
  Emitter emit(context);
  Value* x = context.required(0);
  const std::vector<double> bias = context.reals("bias");
  check(known_rank(x, "the image") == 4, ErrorCode::bad_data, "the image is {}, expected rank 4",
        x->type.to_string());
  const auto channels = static_cast<std::int64_t>(bias.size());
  const auto given = x->type.dims()[1].constant();
  check(!given || *given == channels, ErrorCode::bad_data, "attribute bias has {} numbers for {} channels",
        channels, given.value_or(0));
  Value* offset = emit.cast(context.tensor(Tensor::from<double>(bias, {channels, 1, 1})), x->type.dtype());
  context.set_output(0, emit.add(emit.times(x, context.real("scale", 1)), offset));
}

/// `border` is left, top, right, bottom; with `scale` (the height and width to keep) only left and top are
/// used.
void crop(RuleContext& context) {
  Emitter emit(context);
  Value* x = context.required(0);
  check(known_rank(x, "the image") == 4, ErrorCode::bad_data, "the image is {}, expected rank 4",
        x->type.to_string());
  const std::vector<std::int64_t> border = context.integers("border"), kept = context.integers("scale");
  check(border.size() == 4, ErrorCode::bad_data, "attribute border has {} numbers, expected 4",
        border.size());
  check(kept.empty() || kept.size() == 2, ErrorCode::bad_data, "attribute scale has {} numbers, expected 2",
        kept.size());
  for (const auto& list : {border, kept})
    for (const std::int64_t size : list)
      check(size >= 0 && size <= INT32_MAX, ErrorCode::bad_data,
            "a border or size is {}, expected at least 0", size);
  const std::int64_t left = border[0], top = border[1];
  const auto end = [&](std::int64_t axis, std::int64_t first, std::size_t size, std::size_t behind) -> Size {
    if (!kept.empty()) return first + kept[size];
    return emit.sub(emit.size(x, axis), context.ints({border[behind]}));
  };
  Value* rows = emit.slice(x, 2, top, end(2, top, 0, 3));
  context.set_output(0, emit.slice(rows, 3, left, end(3, left, 1, 2)));
}

void parametric_softplus(RuleContext& context) {
  Emitter emit(context);
  Value* inner = emit.times(context.required(0), context.get<double>("beta", "a number"));
  context.set_output(
      0, emit("identity", {emit.times(emit("softplus", {inner}), context.get<double>("alpha", "a number"))}));
}

void scaled_tanh(RuleContext& context) {
  Emitter emit(context);
  Value* inner = emit.times(context.required(0), context.get<double>("beta", "a number"));
  context.set_output(
      0, emit("identity", {emit.times(emit("tanh", {inner}), context.get<double>("alpha", "a number"))}));
}

/// The shape given by the attributes or the input.
Value* filled_shape(RuleContext& context) {
  Emitter emit(context);
  Value* extra = context.ints(context.integers("extra_shape"));
  const bool given = context.integer("input_as_shape", 0) != 0;
  if (given) return emit.concat({emit.cast(context.required(0), DType::i64), extra}, 0);
  if (context.has(0)) return emit.concat({emit("shape", {context.input(0)}), extra}, 0);
  check(context.has_attribute("shape"), ErrorCode::bad_data,
        "expected an input or attribute shape, got neither");
  return context.ints(context.integers("shape"));
}

void given_tensor_fill(RuleContext& context) {
  Emitter emit(context);
  const std::vector<double> values = context.reals("values");
  const std::vector<float> narrow(values.begin(), values.end());
  Value* list = context.tensor(Tensor::from<float>(narrow, {static_cast<std::int64_t>(narrow.size())}));
  context.set_output(0, emit("reshape", {list, filled_shape(context)}, {{"allowzero", std::int64_t{1}}}));
}

void constant_fill(RuleContext& context) {
  Emitter emit(context);
  Tensor value = Tensor::allocate(context.has_attribute("dtype") ? context.dtype("dtype") : DType::f32, {1});
  copy_tensor(Tensor::from<double>(std::vector<double>{context.real("value", 0)}, {1}), value);
  context.set_output(0, emit("constant_of_shape", {filled_shape(context)}, {{"value", value}}));
}

void dynamic_slice(RuleContext& context) {
  context.set_output(0, context.emit("slice", context.all_inputs()));
}

/// Before version 9 the attribute across_channels decided on the axes.
void mean_variance_normalization(RuleContext& context) {
  if (context.version >= 9) return direct(context);
  Emitter emit(context);
  Value* x = context.required(0);
  std::vector<std::int64_t> axes = {0, 2, 3};
  if (context.integer("across_channels", 0) != 0) axes = {0, 1, 2, 3};
  if (context.integer("normalize_variance", 1) != 0)
    return context.set_output(0, emit("mean_variance_normalization", {x}, {{"axes", axes}}));
  context.set_output(0, emit.sub(x, emit("reduce_mean", {x, context.ints(axes)})));
}

} // namespace

void add_early_rules(Rules& rules) {
  rules["Affine"] = affine;
  rules["Scale"] = scale;
  rules["ImageScaler"] = image_scaler;
  rules["Crop"] = crop;
  rules["ParametricSoftplus"] = parametric_softplus;
  rules["ScaledTanh"] = scaled_tanh;
  rules["GivenTensorFill"] = given_tensor_fill;
  rules["ConstantFill"] = constant_fill;
  rules["DynamicSlice"] = dynamic_slice;
  rules["MeanVarianceNormalization"] = mean_variance_normalization;
}

} // namespace lanner::onnx
