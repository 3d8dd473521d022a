// Convolution, pooling and inner products.

#include <algorithm>

#include <lanner/error.h>

#include "importers/caffe/rules.h"

namespace lanner::caffe {
namespace {

constexpr std::int64_t largest = 1 << 20;

std::int64_t bounded(std::int64_t value, const char* name, std::int64_t least) {
  check(value >= least && value <= largest, ErrorCode::bad_data, "{} is {}, expected {} to {}", name, value,
        least, largest);
  return value;
}

/// A number for each spatial dim: the list's one for all, or its own, or the fields of height and width.
std::vector<std::int64_t> spatial(const RuleContext& context, const char* name, const char* high,
                                  const char* wide, std::int64_t fallback) {
  const std::size_t dims = rank_of(context) - 2;
  const std::int64_t least = fallback;
  if (context.has_attribute(high) || context.has_attribute(wide)) {
    check(dims == 2, ErrorCode::bad_data, "{} for an input that is no picture", high);
    return {bounded(context.integer(high, fallback), high, least),
            bounded(context.integer(wide, fallback), wide, least)};
  }
  std::vector<std::int64_t> list = context.integers(name);
  if (list.empty()) list.push_back(fallback);
  if (list.size() == 1) list.resize(dims, list[0]);
  check(list.size() == dims, ErrorCode::bad_data, "{} has {} numbers for {} dims", name, list.size(), dims);
  for (std::int64_t value : list) bounded(value, name, least);
  return list;
}

/// Pads at the beginning, then the same at the end.
std::vector<std::int64_t> both_sides(std::vector<std::int64_t> pads) {
  const std::size_t count = pads.size();
  pads.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) pads.push_back(pads[i]);
  return pads;
}

Shape weight_shape(const RuleContext& context, std::int64_t group, bool transposed) {
  const std::vector<std::int64_t> kernel = spatial(context, "kernel_size", "kernel_h", "kernel_w", 1);
  std::int64_t area = 1;
  for (std::int64_t size : kernel) area *= size <= largest / area ? size : 0;
  const std::int64_t filters = bounded(context.integer("num_output", 0), "num_output", 1);
  const std::int64_t elements = blob(context, 0).elements(), out = transposed ? filters / group : filters;
  check(area > 0 && out > 0 && elements % (out * area) == 0, ErrorCode::bad_data,
        "its {} weights are no whole number of filters", elements);
  const std::int64_t in = elements / (out * area);
  Shape shape = transposed ? Shape{in, out} : Shape{out, in};
  for (std::int64_t size : kernel) shape.push_back(size);
  return shape;
}

Rule convolution(const char* op, bool transposed) {
  return [op, transposed](RuleContext& context) {
    check(rank_of(context) >= 3 && context.integer("axis", 1) == 1, ErrorCode::unsupported,
          "expected channels at axis 1 and spatial dims behind");
    const std::int64_t group = bounded(context.integer("group", 1), "group", 1);
    AttributeMap attributes;
    attributes.set("pads", both_sides(spatial(context, "pad", "pad_h", "pad_w", 0)));
    attributes.set("strides", spatial(context, "stride", "stride_h", "stride_w", 1));
    attributes.set("dilations", spatial(context, "dilation", "", "", 1));
    attributes.set("group", group);
    std::vector<Value*> inputs{context.required(0),
                               blob(context, 0, weight_shape(context, group, transposed))};
    if (context.integer("bias_term", 1) != 0)
      inputs.push_back(blob(context, 1, {context.integer("num_output", 0)}));
    context.set_output(0, context.emit(op, inputs, std::move(attributes)));
  };
}

/// Pooling's numbers are single fields where convolution's are lists.
std::vector<std::int64_t> pair(const RuleContext& context, const char* name, const char* high,
                               const char* wide, std::int64_t fallback) {
  const std::int64_t both = bounded(context.integer(name, fallback), name, fallback);
  return {bounded(context.integer(high, both), high, fallback),
          bounded(context.integer(wide, both), wide, fallback)};
}

void pooling(RuleContext& context) {
  const std::int64_t method = context.integer("pool", 0);
  check(method == 0 || method == 1, ErrorCode::unsupported, "pool {}; expected MAX or AVE", method);
  check(rank_of(context) == 4, ErrorCode::unsupported, "expected an input of four dims");
  Value* x = context.required(0);
  if (context.integer("global_pooling", 0) != 0)
    return context.set_output(0, context.emit(method == 0 ? "global_max_pool" : "global_average_pool", {x}));
  AttributeMap attributes;
  attributes.set("kernel_shape", pair(context, "kernel_size", "kernel_h", "kernel_w", 1));
  attributes.set("strides", pair(context, "stride", "stride_h", "stride_w", 1));
  attributes.set("pads", both_sides(pair(context, "pad", "pad_h", "pad_w", 0)));
  // Sizes are rounded up, but no window begins in the padding behind; averages count the padding.
  attributes.set("ceil_mode", std::int64_t{context.integer("round_mode", 0) == 0});
  if (method == 1) attributes.set("count_include_pad", std::int64_t{1});
  context.set_output(0, context.emit(method == 0 ? "max_pool" : "average_pool", {x}, std::move(attributes)));
}

void inner_product(RuleContext& context) {
  const std::int64_t axis = axis_of(context, "axis", 1),
                     outputs = bounded(context.integer("num_output", 0), "num_output", 1);
  const bool turned = context.integer("transpose", 0) != 0;
  const std::int64_t elements = blob(context, 0).elements();
  check(elements % outputs == 0, ErrorCode::bad_data, "its {} weights are no multiple of {} outputs",
        elements, outputs);
  const std::int64_t inputs = elements / outputs;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(axis), 0);
  rows.push_back(inputs);
  Value* x = context.emit("reshape", {context.required(0), context.ints(rows)});
  Value* weights = blob(context, 0, turned ? Shape{inputs, outputs} : Shape{outputs, inputs});
  if (!turned) weights = context.emit("transpose", {weights}, with("perm", std::vector<std::int64_t>{1, 0}));
  Value* y = context.emit("matmul", {x, weights});
  if (context.integer("bias_term", 1) != 0) y = context.emit("add", {y, blob(context, 1, {outputs})});
  context.set_output(0, y);
}

} // namespace

void add_layer_rules(Rules& rules) {
  rules["Convolution"] = rules["ConvolutionDepthwise"] = rules["DepthwiseConvolution"] =
      convolution("conv", false);
  rules["Deconvolution"] = convolution("conv_transpose", true);
  rules["Pooling"] = pooling;
  rules["InnerProduct"] = inner_product;
}

} // namespace lanner::caffe
