// Quantisation that a model simulates on real numbers: ranges become scales and zero points, so that a build
// for INT8 finds them.

#include <algorithm>
#include <cmath>
#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* open_bits = "the number of bits must be known before running; make it a constant";

std::int64_t checked_bits(std::int64_t bits, std::int64_t least) {
  check(bits >= least && bits <= 16, ErrorCode::bad_data, "num_bits is {}; expected {} to 16", bits, least);
  return bits;
}

/// Numbers of a constant real input; nothing where it is computed.
std::optional<std::vector<float>> known_reals(const RuleContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  if (!tensor || tensor->dtype() != DType::f32) return std::nullopt;
  const auto elements = tensor->as<float>();
  return std::vector<float>(elements.begin(), elements.end());
}

Value* list_of(RuleContext& context, const std::vector<float>& numbers, bool one) {
  return context.tensor(one ? Tensor::scalar(numbers.at(0))
                            : Tensor::from<float>(numbers, {static_cast<std::int64_t>(numbers.size())}));
}

template<typename T>
Value* points_of(RuleContext& context, const std::vector<float>& points, bool one) {
  std::vector<T> whole;
  for (float point : points) whole.push_back(static_cast<T>(point));
  return context.tensor(one ? Tensor::scalar(whole.at(0))
                            : Tensor::from<T>(whole, {static_cast<std::int64_t>(whole.size())}));
}

/// One number, or one for each entry of the axis.
struct Quantization {
  std::vector<float> scales, points, lows, highs; ///< Lows and highs: the range that the steps reach.
  bool is_signed = false, one = true, clipped = false;
  std::int64_t axis = 1;
};

/// Rounded to 8-bit integers and back.
Value* rounded_to_steps(RuleContext& context, Value* x, const Quantization& given) {
  AttributeMap attributes = with("axis", given.axis);
  Value* scale = list_of(context, given.scales, given.one);
  Value* point = given.is_signed ? points_of<std::int8_t>(context, given.points, given.one)
                                 : points_of<std::uint8_t>(context, given.points, given.one);
  if (given.clipped) { // a narrow range lacks the least integer
    Value *low = list_of(context, given.lows, given.one), *high = list_of(context, given.highs, given.one);
    if (!given.one) {
      std::vector<std::int64_t> trailing;
      for (std::size_t d = static_cast<std::size_t>(given.axis) + 1; d < x->type.rank(); ++d)
        trailing.push_back(static_cast<std::int64_t>(trailing.size()) + 1);
      if (!trailing.empty())
        low = unsqueezed(context, low, trailing), high = unsqueezed(context, high, trailing);
    }
    x = context.emit("max", {context.emit("min", {x, high}), low});
  }
  Value* whole = context.emit("quantize_linear", {x, scale, point}, attributes);
  return context.emit("dequantize_linear", {whole, scale, point}, attributes);
}

// FakeQuant: steps from `least` to 2^bits - 1, moved so that 0 is one of them.

struct Steps {
  float least, most;
};

Steps steps_of(const RuleContext& context) {
  const std::int64_t bits = checked_bits(context.integer("num_bits", 8), 2);
  return {context.integer("narrow_range", 0) != 0 ? 1.0F : 0.0F, static_cast<float>((1 << bits) - 1)};
}

Quantization nudged(const std::vector<float>& mins, const std::vector<float>& maxs, const Steps& steps) {
  Quantization made;
  for (std::size_t i = 0; i < mins.size(); ++i) {
    const float scale = (maxs[i] - mins[i]) / (steps.most - steps.least);
    check(std::isfinite(scale) && scale > 0, ErrorCode::bad_data, "a range from {} to {}", mins[i], maxs[i]);
    const float point = std::clamp(std::round(steps.least - mins[i] / scale), steps.least, steps.most);
    made.scales.push_back(scale);
    made.points.push_back(point);
    made.lows.push_back((steps.least - point) * scale);
    made.highs.push_back((steps.most - point) * scale);
  }
  return made;
}

bool all_positive(const std::vector<float>& mins, const std::vector<float>& maxs) {
  for (std::size_t i = 0; i < mins.size(); ++i)
    if (!(maxs[i] > mins[i])) return false;
  return !mins.empty();
}

/// The same with ranges known only at run time, or another number of bits.
Value* fake_quantized(RuleContext& context, Value* x, Value* min, Value* max, const Steps& steps) {
  const auto number = [&](double value) { return number_like(context, x, value); };
  Value *least = number(steps.least), *most = number(steps.most);
  Value* scale = context.emit("div", {context.emit("sub", {max, min}), number(steps.most - steps.least)});
  Value* point = context.emit("sub", {least, context.emit("div", {min, scale})});
  point = context.emit("floor", {context.emit("add", {point, number(0.5)})});
  point = context.emit("min", {context.emit("max", {point, least}), most});
  Value* low = context.emit("mul", {context.emit("sub", {least, point}), scale});
  Value* high = context.emit("mul", {context.emit("sub", {most, point}), scale});
  Value* inside = context.emit("max", {context.emit("min", {x, high}), low});
  Value* step = context.emit("div", {context.emit("sub", {inside, low}), scale});
  step = context.emit("floor", {context.emit("add", {step, number(0.5)})});
  Value* result = context.emit("add", {context.emit("mul", {step, scale}), low});
  Value* empty = context.emit("equal", {min, max}); // the range from 0 to 0
  return context.emit("where", {empty, number(0), result});
}

/// With `channels`, ranges are one for each entry of the last dim.
void quantize_range(RuleContext& context, bool channels) {
  Value* x = context.required(0);
  const Steps steps = steps_of(context);
  const auto mins = known_reals(context, 1), maxs = known_reals(context, 2);
  const bool bytes = steps.most == 255, known = mins && maxs && mins->size() == maxs->size();
  if (!bytes || !known || !all_positive(*mins, *maxs) || (channels ? !x->type.ranked() : mins->size() != 1))
    return context.set_output(0, fake_quantized(context, x, context.required(1), context.required(2), steps));
  Quantization made = nudged(*mins, *maxs, steps);
  made.clipped = steps.least > 0;
  made.one = !channels;
  made.axis = channels ? static_cast<std::int64_t>(rank_of(context, 0)) - 1 : 1;
  context.set_output(0, rounded_to_steps(context, x, made));
}

void fake_quant_vars(RuleContext& context) {
  quantize_range(context, false);
}
void fake_quant_channels(RuleContext& context) {
  quantize_range(context, true);
}

void fake_quant_args(RuleContext& context) {
  Value* x = context.required(0);
  const Steps steps = steps_of(context);
  const std::vector<float> min{static_cast<float>(context.real("min", -6))},
      max{static_cast<float>(context.real("max", 6))};
  if (steps.most != 255 || !all_positive(min, max))
    return context.set_output(0, fake_quantized(context, x, number_like(context, x, min[0]),
                                                number_like(context, x, max[0]), steps));
  Quantization made = nudged(min, max, steps);
  made.clipped = steps.least > 0;
  context.set_output(0, rounded_to_steps(context, x, made));
}

// QuantizeAndDequantize: a scale without zero point, from the side of the range that needs the larger one.

struct Symmetric {
  double least, most; ///< Integers.
  bool given, half_up, is_signed, narrow;
  std::int64_t axis; ///< -1: one range for all.
};

Symmetric symmetric_of(RuleContext& context) {
  std::int64_t bits = context.integer("num_bits", 8);
  if (context.node.op == "QuantizeAndDequantizeV3") {
    check(context.constant(3) != nullptr, ErrorCode::unsupported, "{}", open_bits);
    bits = known_integer(context, 3);
  }
  check(bits >= 1 && bits < 63, ErrorCode::bad_data, "num_bits is {}; expected 1 to 62", bits);
  Symmetric made{};
  made.is_signed = context.integer("signed_input", 1) != 0;
  made.narrow = context.integer("narrow_range", 0) != 0;
  made.given = context.integer("range_given", context.node.op == "QuantizeAndDequantizeV3" ? 1 : 0) != 0;
  made.half_up = context.string("round_mode", "HALF_TO_EVEN") == "HALF_UP";
  made.axis = context.integer("axis", -1);
  made.most = std::exp2(made.is_signed ? bits - 1 : bits) - 1;
  made.least = made.is_signed ? -made.most - (made.narrow ? 0 : 1) : 0;
  return made;
}

std::optional<Quantization> known_steps(const RuleContext& context, const Symmetric& form) {
  const auto mins = known_reals(context, 1), maxs = known_reals(context, 2);
  const bool bytes = form.most - form.least == 255 || (form.narrow && form.most == 127);
  if (!form.given || form.half_up || !bytes || !mins || !maxs || mins->size() != maxs->size() ||
      mins->empty())
    return std::nullopt;
  if (form.axis < 0 && mins->size() != 1) return std::nullopt;
  Quantization made;
  made.is_signed = form.is_signed;
  made.clipped = form.narrow && form.is_signed;
  made.one = form.axis < 0;
  made.axis = std::max<std::int64_t>(form.axis, 0);
  for (std::size_t i = 0; i < mins->size(); ++i) {
    const double low = form.least < 0 && (*mins)[i] < 0 ? (*mins)[i] / form.least : 0;
    const double high = (*maxs)[i] > 0 ? (*maxs)[i] / form.most : 0;
    const auto scale = static_cast<float>(std::max(low, high));
    if (!(scale > 0)) return std::nullopt;
    made.scales.push_back(scale);
    made.points.push_back(0);
    made.lows.push_back(static_cast<float>(form.least) * scale);
    made.highs.push_back(static_cast<float>(form.most) * scale);
  }
  return made;
}

/// A range for each entry of the axis, with dims of 1 so that it spreads over `x`.
Value* spread(RuleContext& context, Value* range, const Symmetric& form, std::size_t rank) {
  if (form.axis < 0) return range;
  std::vector<std::int64_t> sizes(rank, 1);
  check(form.axis < static_cast<std::int64_t>(rank), ErrorCode::bad_data, "axis {} of {} dims", form.axis,
        rank);
  sizes[static_cast<std::size_t>(form.axis)] = -1;
  return reshaped(context, range, std::move(sizes));
}

/// The least or largest element, of each entry of the axis where there is one.
Value* extreme(RuleContext& context, const char* op, Value* x, const Symmetric& form) {
  AttributeMap attributes = with("keepdims", std::int64_t{form.axis >= 0});
  if (form.axis < 0) return context.emit(op, {x}, std::move(attributes));
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < rank_of(context, 0); ++d)
    if (static_cast<std::int64_t>(d) != form.axis) axes.push_back(static_cast<std::int64_t>(d));
  return context.emit(op, {x, context.ints(axes)}, std::move(attributes));
}

Value* symmetric_steps(RuleContext& context, Value* x, const Symmetric& form) {
  const auto number = [&](double value) { return number_like(context, x, value); };
  const auto side = [&](std::size_t input, const char* op) {
    if (!form.given) return extreme(context, op, x, form);
    return spread(context, context.required(input), form, form.axis < 0 ? 0 : rank_of(context, 0));
  };
  Value *min = side(1, "reduce_min"), *max = side(2, "reduce_max"), *none = number(0);
  // A side that has no integers of its sign asks for no scale.
  Value* low =
      form.least < 0 ? context.emit("div", {context.emit("min", {min, none}), number(form.least)}) : none;
  Value* high = context.emit("div", {context.emit("max", {max, none}), number(form.most)});
  Value* scale = context.emit("max", {low, high});
  if (form.given) {
    Value* top = context.emit("mul", {scale, number(form.most)});
    Value* bottom = context.emit("mul", {scale, number(form.least)});
    x = context.emit("max", {context.emit("min", {x, top}), bottom});
  }
  Value* step = context.emit("div", {x, scale});
  step = form.half_up ? context.emit("floor", {context.emit("add", {step, number(0.5)})})
                      : context.emit("round", {step});
  Value* result = context.emit("mul", {step, scale});
  return context.emit("where", {context.emit("equal", {scale, none}), none, result});
}

void quantize_and_dequantize(RuleContext& context) {
  Value* x = context.required(0);
  const Symmetric form = symmetric_of(context);
  if (const auto known = known_steps(context, form); known && x->type.ranked())
    return context.set_output(0, rounded_to_steps(context, x, *known));
  context.set_output(0, symmetric_steps(context, x, form));
}

} // namespace

void add_quantization_rules(Rules& rules) {
  rules["FakeQuantWithMinMaxArgs"] = fake_quant_args;
  rules["FakeQuantWithMinMaxVars"] = fake_quant_vars;
  rules["FakeQuantWithMinMaxVarsPerChannel"] = fake_quant_channels;
  rules["QuantizeAndDequantizeV2"] = rules["QuantizeAndDequantizeV4"] = quantize_and_dequantize;
  rules["QuantizeAndDequantizeV3"] = {quantize_and_dequantize, {open_bits}};
}

} // namespace lanner::tensorflow
