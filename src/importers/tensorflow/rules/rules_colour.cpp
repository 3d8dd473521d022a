// Colours and contrast of images with channels last.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

Value* channel(RuleContext& context, Value* x, std::int64_t i) {
  return context.emit("slice", {x, context.ints({i}), context.ints({i + 1}), context.ints({-1})});
}

Value* joined(RuleContext& context, std::vector<Value*> channels) {
  return context.emit("concat", std::move(channels), with("axis", std::int64_t{-1}));
}

struct Hsv {
  Value *hue, *saturation, *value;
};

/// Hue from 0 to 1: where the largest channel is red, from the difference of the others, and so on; 0 for
/// grey.
Hsv to_hsv(RuleContext& context, Value* rgb) {
  Value *r = channel(context, rgb, 0), *g = channel(context, rgb, 1), *b = channel(context, rgb, 2);
  const auto number = [&](double value) { return number_like(context, rgb, value); };
  Value *most = context.emit("max", {r, g, b}), *least = context.emit("min", {r, g, b});
  Value* range = context.emit("sub", {most, least});
  Value* grey = context.emit("less_or_equal", {range, number(0)});
  Value* sixth = context.emit("div", {number(1.0 / 6), context.emit("where", {grey, number(1), range})});
  const auto towards = [&](Value* from, Value* to, double start) {
    Value* part = context.emit("mul", {sixth, context.emit("sub", {from, to})});
    return start == 0 ? part : context.emit("add", {part, number(start)});
  };
  const auto is_most = [&](Value* one) { return context.emit("equal", {one, most}); };
  Value* others = context.emit("where", {is_most(g), towards(b, r, 2.0 / 6), towards(r, g, 4.0 / 6)});
  Value* hue = context.emit("where", {is_most(r), towards(g, b, 0), others});
  hue = context.emit("where", {grey, number(0), hue});
  Value* below = context.emit("less", {hue, number(0)});
  hue = context.emit("where", {below, context.emit("add", {hue, number(1)}), hue});
  Value* dark = context.emit("less_or_equal", {most, number(0)});
  Value* ratio = context.emit("div", {range, context.emit("where", {dark, number(1), most})});
  return {hue, context.emit("where", {dark, number(0), ratio}), most};
}

Value* to_rgb(RuleContext& context, const Hsv& colour) {
  const auto number = [&](double value) { return number_like(context, colour.hue, value); };
  const auto unit = [&](Value* value) { return context.emit("clip", {value, number(0), number(1)}); };
  Value* angle = context.emit("mul", {colour.hue, number(6)});
  const auto distance = [&](double from) {
    return context.emit("abs", {context.emit("sub", {angle, number(from)})});
  };
  Value* red = unit(context.emit("sub", {distance(3), number(1)}));
  Value* green = unit(context.emit("sub", {number(2), distance(2)}));
  Value* blue = unit(context.emit("sub", {number(2), distance(4)}));
  Value* grey = context.emit("sub", {number(1), colour.saturation});
  Value* pure = joined(context, {red, green, blue});
  Value* mixed = context.emit("add", {grey, context.emit("mul", {pure, colour.saturation})});
  return context.emit("mul", {mixed, colour.value});
}

void rgb_to_hsv(RuleContext& context) {
  const Hsv colour = to_hsv(context, context.required(0));
  context.set_output(0, joined(context, {colour.hue, colour.saturation, colour.value}));
}

void hsv_to_rgb(RuleContext& context) {
  Value* x = context.required(0);
  context.set_output(
      0, to_rgb(context, {channel(context, x, 0), channel(context, x, 1), channel(context, x, 2)}));
}

void adjust_saturation(RuleContext& context) {
  Value* x = context.required(0);
  Hsv colour = to_hsv(context, cast(context, x, DType::f32));
  Value* scaled = context.emit("mul", {colour.saturation, context.required(1)});
  colour.saturation =
      context.emit("clip", {scaled, context.scalar(DType::f32, 0), context.scalar(DType::f32, 1)});
  context.set_output(0, cast(context, to_rgb(context, colour), x->type.dtype()));
}

/// Hues wrap around at 1.
void adjust_hue(RuleContext& context) {
  Value* x = context.required(0);
  Hsv colour = to_hsv(context, cast(context, x, DType::f32));
  Value* moved = context.emit("add", {colour.hue, context.required(1)});
  colour.hue = context.emit("sub", {moved, context.emit("floor", {moved})});
  context.set_output(0, cast(context, to_rgb(context, colour), x->type.dtype()));
}

/// Differences from the mean of each image's channel are scaled.
void adjust_contrast(RuleContext& context) {
  Value* x = context.required(0);
  Value* wide = cast(context, x, DType::f32);
  Value* mean =
      context.emit("reduce_mean", {wide, context.ints({-3, -2})}, with("keepdims", std::int64_t{1}));
  Value* scaled = context.emit("mul", {context.emit("sub", {wide, mean}), context.required(1)});
  context.set_output(0, cast(context, context.emit("add", {scaled, mean}), x->type.dtype()));
}

} // namespace

void add_colour_rules(Rules& rules) {
  rules["RGBToHSV"] = rgb_to_hsv;
  rules["HSVToRGB"] = hsv_to_rgb;
  rules["AdjustSaturation"] = adjust_saturation;
  rules["AdjustHue"] = adjust_hue;
  rules["AdjustContrastv2"] = adjust_contrast;
}

} // namespace lanner::tensorflow
