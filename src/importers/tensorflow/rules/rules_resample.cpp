// Resizing by weights that are known before running, where each axis is a product with a matrix of them, and
// projective transforms.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* open_resample = "its weights depend on sizes that are open; give the height and width "
                                      "of the input and make the size a constant, or "
                                      "use bilinear resizing without antialias";
constexpr std::int64_t largest = 1 << 15;

/// A row of weights of the source's pixels for each pixel of the result.
using Weights = std::vector<float>;

/// Zeros for as many weights, not too many for memory: a file's sizes decide.
Weights no_weights(std::int64_t from, std::int64_t to) {
  constexpr std::int64_t most = 1 << 24;
  check(from * to <= most, ErrorCode::limit_exceeded,
        "resizing from {} to {} needs {} weights, expected at most {}", from, to, from * to, most);
  return Weights(static_cast<std::size_t>(to * from), 0);
}

Value* weighted(RuleContext& context, Value* x, const Weights& weights, std::int64_t to, std::int64_t from) {
  return context.emit("matmul", {context.tensor(Tensor::from<float>(weights, {to, from})), x});
}

/// Rows by a product from the left, columns on the transposed image.
Value* resampled(RuleContext& context, Value* x, const Weights (&weights)[2], const std::int64_t (&from)[2],
                 const std::int64_t (&to)[2]) {
  x = transpose(context, cast(context, x, DType::f32), {0, 3, 1, 2});
  x = weighted(context, x, weights[0], to[0], from[0]);
  x = weighted(context, transpose(context, x, {0, 1, 3, 2}), weights[1], to[1], from[1]);
  return transpose(context, x, {0, 3, 2, 1});
}

std::int64_t source_size(const Value* x, std::size_t d) {
  const auto size = known_size(x, d);
  check(size && *size >= 1 && *size <= largest, ErrorCode::unsupported, "{}", open_resample);
  return *size;
}

std::vector<std::int64_t> result_sizes(const RuleContext& context) {
  check(context.constant(1) != nullptr, ErrorCode::unsupported, "{}", open_resample);
  const std::vector<std::int64_t> sizes = known_integers(context, 1);
  check(sizes.size() == 2 &&
            std::ranges::all_of(sizes, [](auto size) { return size >= 1 && size <= largest; }),
        ErrorCode::bad_data, "input 1: expected two sizes up to {}", largest);
  return sizes;
}

/// The share of each source pixel in the stretch of the source that a result's pixel covers.
Weights area_weights(std::int64_t from, std::int64_t to, bool corners) {
  const float scale = corners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                                        : static_cast<float>(from) / static_cast<float>(to);
  Weights weights = no_weights(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    const auto first = static_cast<std::int64_t>(std::floor(begin)),
               last = static_cast<std::int64_t>(std::ceil(end));
    for (std::int64_t y = first; y < last; ++y) {
      const auto at = static_cast<float>(y);
      const float share = std::min(at + 1, end) - std::max(at, begin);
      weights[static_cast<std::size_t>(i * from + std::clamp<std::int64_t>(y, 0, from - 1))] += share / scale;
    }
  }
  return weights;
}

void area(RuleContext& context) {
  Value* x = context.required(0);
  const std::vector<std::int64_t> sizes = result_sizes(context);
  const bool corners = context.integer("align_corners", 0) != 0;
  const std::int64_t from[] = {source_size(x, 1), source_size(x, 2)}, to[] = {sizes[0], sizes[1]};
  const Weights weights[] = {area_weights(from[0], to[0], corners), area_weights(from[1], to[1], corners)};
  context.set_output(0, resampled(context, x, weights, from, to));
}

// scale_and_translate: a kernel around the place of each result's pixel.

struct SampleKernel {
  float radius;
  std::function<float(float)> at; ///< Of a distance of 0 or more.
};

SampleKernel lanczos(float radius) {
  return {radius, [radius](float x) {
            if (x > radius) return 0.0F;
            if (x <= 1e-3F) return 1.0F;
            constexpr auto pi = std::numbers::pi_v<float>;
            return radius * std::sin(pi * x) * std::sin(pi * x / radius) / (pi * pi * x * x);
          }};
}

float cubic(float x, float a, float b) { // Mitchell and Netravali's family: B is b, C is a
  const float near = ((12 - 9 * b - 6 * a) * x + (-18 + 12 * b + 6 * a)) * x * x + (6 - 2 * b);
  const float far = (((-b - 6 * a) * x + (6 * b + 30 * a)) * x + (-12 * b - 48 * a)) * x + (8 * b + 24 * a);
  return x < 1 ? near / 6 : x < 2 ? far / 6 : 0.0F;
}

SampleKernel kernel_of(const std::string& name) {
  if (name == "lanczos1") return lanczos(1);
  if (name == "lanczos3") return lanczos(3);
  if (name == "lanczos5") return lanczos(5);
  if (name == "triangle") return {1, [](float x) { return std::max(1 - x, 0.0F); }};
  if (name == "box") return {1, [](float x) { return x < 0.5F ? 1.0F : x == 0.5F ? 0.5F : 0.0F; }};
  if (name == "keyscubic") return {2, [](float x) { return cubic(x, 0.5F, 0); }};
  if (name == "mitchellcubic") return {2, [](float x) { return cubic(x, 1.0F / 3, 1.0F / 3); }};
  check(name == "gaussian", ErrorCode::bad_data, "kernel_type is '{}'", name);
  constexpr float radius = 1.5F, sigma = radius / 3;
  return {radius, [](float x) { return x >= radius ? 0.0F : std::exp(-x * x / (2 * sigma * sigma)); }};
}

Weights kernel_weights(std::int64_t from, std::int64_t to, float scale, float move,
                       const SampleKernel& kernel, bool antialias) {
  check(scale > 0 && std::isfinite(scale) && std::isfinite(move), ErrorCode::bad_data, "a scale of {}",
        scale);
  const float step = 1 / scale, stretch = antialias ? std::max(step, 1.0F) : 1.0F;
  Weights weights = no_weights(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = (static_cast<float>(i) + 0.5F) * step - move * step;
    if (place < 0 || place > static_cast<float>(from)) continue; // outside of the image: zeros
    const float reach = kernel.radius * stretch;
    const auto first = static_cast<std::int64_t>(std::max(std::ceil(place - reach - 0.5F), 0.0F));
    const auto last =
        static_cast<std::int64_t>(std::min(std::floor(place + reach - 0.5F), static_cast<float>(from - 1)));
    float sum = 0;
    for (std::int64_t y = first; y <= last; ++y) {
      const float weight = kernel.at(std::abs((static_cast<float>(y) + 0.5F - place) / stretch));
      weights[static_cast<std::size_t>(i * from + y)] = weight;
      sum += weight;
    }
    if (std::abs(sum) < 1000 * std::numeric_limits<float>::min()) continue;
    for (std::int64_t y = first; y <= last; ++y) weights[static_cast<std::size_t>(i * from + y)] /= sum;
  }
  return weights;
}

std::vector<float> known_pair(const RuleContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  check(tensor != nullptr, ErrorCode::unsupported, "{}", open_resample);
  check(tensor->dtype() == DType::f32 && tensor->elements() == 2, ErrorCode::bad_data,
        "input {}: expected two numbers", i);
  return {tensor->as<float>()[0], tensor->as<float>()[1]};
}

void scale_and_translate(RuleContext& context) {
  Value* x = context.required(0);
  const std::vector<std::int64_t> sizes = result_sizes(context);
  const std::vector<float> scale = known_pair(context, 2), move = known_pair(context, 3);
  const SampleKernel kernel = kernel_of(context.string("kernel_type", "lanczos3"));
  const bool antialias = context.integer("antialias", 1) != 0;
  const std::int64_t from[] = {source_size(x, 1), source_size(x, 2)}, to[] = {sizes[0], sizes[1]};
  const Weights weights[] = {kernel_weights(from[0], to[0], scale[0], move[0], kernel, antialias),
                             kernel_weights(from[1], to[1], scale[1], move[1], kernel, antialias)};
  context.set_output(0, resampled(context, x, weights, from, to));
}

// A projective transform: of each pixel of the result the place in the source.

bool is_zero_constant(const RuleContext& context, std::size_t i) {
  const Tensor* number = context.constant(i);
  return number && number->dtype() == DType::f32 && number->elements() == 1 && number->as<float>()[0] == 0;
}

constexpr const char* other_fill =
    "fill_mode REFLECT or WRAP, or a fill_value other than 0; use CONSTANT with 0, or NEAREST";

/// 0, 1, ... below the size, as real numbers.
Value* steps_to(RuleContext& context, Value* size) {
  Value* steps = context.emit("range", {context.scalar(DType::i64, 0), size, context.scalar(DType::i64, 1)});
  return cast(context, steps, DType::f32);
}

/// The sampling grid takes places from -1, the first pixel, to 1, the last one.
Value* grid_place(RuleContext& context, Value* place, std::int64_t dim) {
  Value* size = context.emit("gather", {context.emit("shape", {context.required(0)}),
                                        context.scalar(DType::i64, static_cast<double>(dim))});
  Value* one = context.scalar(DType::f32, 1);
  Value* last = context.emit("sub", {cast(context, size, DType::f32), one});
  // A single pixel is everywhere at 0.
  last = context.emit("max", {last, context.scalar(DType::f32, 1e-6)});
  Value* twice = context.emit("mul", {place, context.scalar(DType::f32, 2)});
  return context.emit("sub", {context.emit("div", {twice, last}), one});
}

/// Halves away from 0.
Value* nearest_place(RuleContext& context, Value* place) {
  Value* size = context.emit("add", {context.emit("abs", {place}), context.scalar(DType::f32, 0.5)});
  return context.emit("mul", {context.emit("sign", {place}), context.emit("floor", {size})});
}

Value* projected_grid(RuleContext& context, Value* sizes, bool nearest) {
  Value* table = context.required(1);
  const auto number = [&](std::int64_t i) { // of each image
    Value* column =
        context.emit("slice", {table, context.ints({i}), context.ints({i + 1}), context.ints({1})});
    return reshaped(context, column, {-1, 1, 1});
  };
  const auto size = [&](double i) { return context.emit("gather", {sizes, context.scalar(DType::i64, i)}); };
  Value* y = reshaped(context, steps_to(context, size(0)), {1, -1, 1});
  Value* x = reshaped(context, steps_to(context, size(1)), {1, 1, -1});
  const auto line = [&](std::int64_t first, Value* constant) {
    Value* sum = context.emit(
        "add", {context.emit("mul", {number(first), x}), context.emit("mul", {number(first + 1), y})});
    return context.emit("add", {sum, constant});
  };
  Value* depth = line(6, context.scalar(DType::f32, 1));
  Value* column = context.emit("div", {line(0, number(2)), depth});
  Value* row = context.emit("div", {line(3, number(5)), depth});
  if (nearest) column = nearest_place(context, column), row = nearest_place(context, row);
  const auto part = [&](Value* place, std::int64_t dim) {
    return unsqueezed(context, grid_place(context, place, dim), {-1});
  };
  return context.emit("concat", {part(column, 2), part(row, 1)}, with("axis", std::int64_t{-1}));
}

void projective_transform(RuleContext& context) {
  const std::string fill = context.string("fill_mode", "CONSTANT");
  const bool zeros = context.inputs() < 4 || is_zero_constant(context, 3);
  check((fill == "CONSTANT" && zeros) || fill == "NEAREST", ErrorCode::unsupported, "{}", other_fill);
  Value *x = context.required(0), *sizes = integers(context, 2);
  const bool nearest = context.string("interpolation", "NEAREST") == "NEAREST";
  Value* grid = projected_grid(context, sizes, nearest);
  const DataFormat format;
  Value* batch = context.emit("shape", {x}, with("end", std::int64_t{1}));
  Value* all = context.emit("concat", {batch, sizes, context.ints({2})}, with("axis", std::int64_t{0}));
  AttributeMap attributes = with("align_corners", std::int64_t{1});
  attributes.set("mode", std::string(nearest ? "nearest" : "linear"));
  attributes.set("padding_mode", std::string(fill == "NEAREST" ? "border" : "zeros"));
  Value* image = channels_first(context, cast(context, x, DType::f32), format);
  Value* y = context.emit("grid_sample", {image, context.emit("expand", {grid, all})}, std::move(attributes));
  context.set_output(0, cast(context, as_source(context, y, format), x->type.dtype()));
}

} // namespace

void add_resample_rules(Rules& rules) {
  rules["ResizeArea"] = {area, {open_resample}};
  rules["ImageProjectiveTransformV2"] =
      rules["ImageProjectiveTransformV3"] = {projective_transform, {other_fill}};
  rules["ScaleAndTranslate"] = {scale_and_translate, {open_resample}};
}

} // namespace lanner::tensorflow
