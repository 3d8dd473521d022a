// Convolution, pooling and inner products.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/caffe/rules.h"

namespace lanner::caffe {
namespace {

constexpr std::int64_t largest = 1 << 20;

std::int64_t bounded(std::int64_t value, const char* name, std::int64_t least) {
  check(value >= least && value <= largest, ErrorCode::bad_data, "{} is {}, expected {} to {}", name, value,
        least, largest);
  return value;
}

/// Fields with a number for each spatial dim: one for all, or one each for height and width.
struct SpatialFields {
  const char *both, *high, *wide;
  std::int64_t fallback; ///< And the smallest allowed value.
};
constexpr SpatialFields strides{"stride", "stride_h", "stride_w", 1}, pads{"pad", "pad_h", "pad_w", 0},
    kernel{"kernel_size", "kernel_h", "kernel_w", 1}, dilations{"dilation", "", "", 1};

/// Whether height and width have fields of their own, which must then come as a pair.
bool has_separate_sides(const RuleContext& context, const SpatialFields& fields) {
  const bool both = context.has_attribute(fields.both), high = context.has_attribute(fields.high),
             wide = context.has_attribute(fields.wide);
  check(high == wide || fields.fallback == 0, ErrorCode::bad_data, "{} is given without {}",
        high ? fields.high : fields.wide, high ? fields.wide : fields.high);
  check(!both || !(high || wide), ErrorCode::bad_data, "both {} and {} are given; expected {} or {} and {}",
        fields.both, high ? fields.high : fields.wide, fields.both, fields.high, fields.wide);
  return high || wide;
}

void require_kernel(const RuleContext& context) {
  check(context.has_attribute(kernel.both) || context.has_attribute(kernel.high) ||
            context.has_attribute(kernel.wide),
        ErrorCode::bad_data, "its kernel has no size; expected kernel_size or kernel_h and kernel_w");
}

/// A number for each spatial dim, from fields of which the first is a list.
std::vector<std::int64_t> spatial(const RuleContext& context, const SpatialFields& fields) {
  const auto [name, high, wide, fallback] = fields;
  const std::size_t dims = rank_of(context) - 2;
  const std::int64_t least = fallback;
  if (has_separate_sides(context, fields)) {
    check(dims == 2, ErrorCode::bad_data, "{} is given for an input that is not a 2-D image", high);
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
  require_kernel(context);
  const std::vector<std::int64_t> sizes = spatial(context, kernel);
  std::int64_t area = 1;
  for (std::int64_t size : sizes) area *= size <= largest / area ? size : 0;
  const std::int64_t filters = bounded(context.integer("num_output", 0), "num_output", 1);
  const std::int64_t elements = blob(context, 0).elements(), out = transposed ? filters / group : filters;
  check(area > 0 && out > 0 && elements % (out * area) == 0, ErrorCode::bad_data,
        "its {} weights do not divide into whole filters", elements);
  const std::int64_t in = elements / (out * area);
  Shape shape = transposed ? Shape{in, out} : Shape{out, in};
  for (std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

Rule convolution(const char* op, bool transposed) {
  return [op, transposed](RuleContext& context) {
    check(rank_of(context) >= 3 && context.integer("axis", 1) == 1, ErrorCode::unsupported,
          "expected channels at axis 1 and spatial dims after it");
    const std::int64_t group = bounded(context.integer("group", 1), "group", 1);
    AttributeMap attributes;
    attributes.set("pads", both_sides(spatial(context, pads)));
    attributes.set("strides", spatial(context, strides));
    attributes.set("dilations", spatial(context, dilations));
    attributes.set("group", group);
    std::vector<Value*> inputs{context.required(0),
                               blob(context, 0, weight_shape(context, group, transposed))};
    if (context.integer("bias_term", 1) != 0)
      inputs.push_back(blob(context, 1, {context.integer("num_output", 0)}));
    context.set_output(0, context.emit(op, inputs, std::move(attributes)));
  };
}

/// Pooling's fields are single numbers where convolution's are lists.
std::vector<std::int64_t> pair(const RuleContext& context, const SpatialFields& fields) {
  const auto [name, high, wide, fallback] = fields;
  has_separate_sides(context, fields);
  const std::int64_t both = bounded(context.integer(name, fallback), name, fallback);
  return {bounded(context.integer(high, both), high, fallback),
          bounded(context.integer(wide, both), wide, fallback)};
}

void pooling(RuleContext& context) {
  const std::int64_t method = context.integer("pool", 0);
  check(method == 0 || method == 1, ErrorCode::unsupported, "pool {}; expected MAX or AVE", method);
  check(rank_of(context) == 4, ErrorCode::unsupported, "expected an input of four dims");
  Value* x = context.required(0);
  const bool global = context.integer("global_pooling", 0) != 0;
  check(!global || !(context.has_attribute(kernel.both) || context.has_attribute(kernel.high) ||
                     context.has_attribute(kernel.wide)),
        ErrorCode::bad_data, "its kernel has a size, but global_pooling takes the whole image");
  check(!global || (pair(context, strides) == std::vector<std::int64_t>{1, 1} &&
                    pair(context, pads) == std::vector<std::int64_t>{0, 0}),
        ErrorCode::bad_data, "with global_pooling, expected stride 1 and no padding");
  if (global)
    return context.set_output(0, context.emit(method == 0 ? "global_max_pool" : "global_average_pool", {x}));
  require_kernel(context);
  AttributeMap attributes;
  const std::vector<std::int64_t> sizes = pair(context, kernel), margins = pair(context, pads);
  check(margins[0] < sizes[0] && margins[1] < sizes[1], ErrorCode::bad_data,
        "padding of {} x {} for a kernel of {} x {}; expected less than the kernel", margins[0], margins[1],
        sizes[0], sizes[1]);
  attributes.set("kernel_shape", sizes);
  attributes.set("strides", pair(context, strides));
  attributes.set("pads", both_sides(margins));
  // Sizes are rounded up, but no window starts in the padding at the end; averages count the padding.
  attributes.set("ceil_mode", std::int64_t{context.integer("round_mode", 0) == 0});
  if (method == 1) attributes.set("count_include_pad", std::int64_t{1});
  context.set_output(0, context.emit(method == 0 ? "max_pool" : "average_pool", {x}, std::move(attributes)));
}

void inner_product(RuleContext& context) {
  const std::int64_t axis = axis_of(context, "axis", 1),
                     outputs = bounded(context.integer("num_output", 0), "num_output", 1);
  const bool turned = context.integer("transpose", 0) != 0;
  const std::int64_t elements = blob(context, 0).elements();
  check(elements % outputs == 0, ErrorCode::bad_data, "its {} weights do not divide by {} outputs", elements,
        outputs);
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
