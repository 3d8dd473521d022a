// Convolutions, pooling and normalisation. Channels-last data is transposed to our layout and back;
// transposes between adjacent nodes cancel, and the rest becomes storage.

#include <algorithm>
#include <optional>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/layer_parts.h"

namespace lanner::tensorflow {
namespace {

/// Upper bound on sizes, strides and similar numbers: no network needs more, and arithmetic on smaller ones
/// cannot overflow.
constexpr std::int64_t largest = std::int64_t{1} << 30;

/// The numbers of the spatial dims in a list with one number per dimension; those of batch and channels must
/// be 1.
std::vector<std::int64_t> spatial(const RuleContext& context, const char* name, const DataFormat& format) {
  const std::vector<std::int64_t> list =
      context.integers(name, std::vector<std::int64_t>(format.dims + 2, 1));
  check(list.size() == format.dims + 2, ErrorCode::bad_data, "attribute {}: expected {} numbers, got {}",
        name, format.dims + 2, list.size());
  check(list[0] == 1 && list[format.channel()] == 1, ErrorCode::unsupported,
        "attribute {} is not 1 for batch and channels", name);
  std::vector<std::int64_t> result;
  for (std::size_t d = 0; d < format.dims; ++d) {
    result.push_back(list[format.space(d)]);
    check(result.back() >= 1 && result.back() <= largest, ErrorCode::bad_data,
          "attribute {}: {} is not positive or too large", name, result.back());
  }
  return result;
}

/// For a list without a default in TensorFlow.
std::vector<std::int64_t> required_spatial(const RuleContext& context, const char* name,
                                           const DataFormat& format) {
  check(context.has_attribute(name), ErrorCode::bad_data, "attribute {} is missing", name);
  return spatial(context, name, format);
}

/// Attribute explicit_paddings as begins, then ends.
std::vector<std::int64_t> explicit_pads(const RuleContext& context, const DataFormat& format) {
  const std::vector<std::int64_t> list = context.integers("explicit_paddings");
  check(list.size() == 2 * (format.dims + 2), ErrorCode::bad_data,
        "attribute explicit_paddings: expected {} numbers, got {}", 2 * (format.dims + 2), list.size());
  for (std::int64_t pad : list)
    check(pad >= 0 && pad <= largest, ErrorCode::bad_data,
          "attribute explicit_paddings: {} is negative or too large", pad);
  std::vector<std::int64_t> pads(2 * format.dims);
  for (std::size_t d = 0; d < format.dims; ++d) {
    pads[d] = list[2 * format.space(d)];
    pads[d + format.dims] = list[2 * format.space(d) + 1];
  }
  return pads;
}

void set_padding(const RuleContext& context, const DataFormat& format, AttributeMap& attributes) {
  const std::string padding = context.string("padding", "");
  if (padding == "SAME")
    attributes.set("auto_pad", std::string("SAME_UPPER"));
  else if (padding == "EXPLICIT")
    attributes.set("pads", explicit_pads(context, format));
  else
    check(padding == "VALID", ErrorCode::bad_data,
          "attribute padding is '{}'; expected SAME, VALID or EXPLICIT", padding);
}

/// From [spatial sizes, channels in, channels out] to [out, in, spatial sizes].
Value* transposed_filter(RuleContext& context, Value* filter, std::size_t dims) {
  std::vector<std::int64_t> order{static_cast<std::int64_t>(dims) + 1, static_cast<std::int64_t>(dims)};
  for (std::size_t d = 0; d < dims; ++d) order.push_back(static_cast<std::int64_t>(d));
  return transpose(context, filter, std::move(order));
}

std::int64_t filter_size(const Value* filter, std::size_t d) {
  const auto size = known_size(filter, d);
  check(size.has_value(), ErrorCode::unsupported, "{}", open_filter);
  check(*size > 0 && *size <= largest, ErrorCode::bad_data, "the filter is {}", filter->type.to_string());
  return *size;
}

/// Whole numbers are computed as f64, which holds their sums exactly.
Value* as_reals(RuleContext& context, Value* value) {
  return is_real(value) ? value : cast(context, value, DType::f64);
}
Value* as_type_of(RuleContext& context, Value* value, const Value* like) {
  if (is_real(like)) return value;
  return cast(context, cast(context, value, DType::i64), like->type.dtype());
}

/// Padding and output padding of a transposed convolution, so that its result has the requested size.
void set_transposed_padding(RuleContext& context, const DataFormat& format, const Value* filter,
                            AttributeMap& attributes) {
  const std::string padding = context.string("padding", "");
  const Value* y = context.required(2);
  const std::vector<std::int64_t> strides = required_spatial(context, "strides", format),
                                  dilations = spatial(context, "dilations", format);
  const std::vector<std::int64_t> explicit_ones =
      padding == "EXPLICIT" ? explicit_pads(context, format) : std::vector<std::int64_t>(2 * format.dims, 0);
  const bool sizes_known = context.constant(0) != nullptr;
  const std::vector<std::int64_t> sizes =
      sizes_known ? known_integers(context, 0) : std::vector<std::int64_t>{};
  check(!sizes_known || sizes.size() == format.dims + 2, ErrorCode::bad_data, "input 0: expected {} sizes",
        format.dims + 2);
  std::vector<std::int64_t> pads(2 * format.dims, 0), extra(format.dims, 0);
  for (std::size_t d = 0; d < format.dims; ++d) {
    const std::int64_t reach = (filter_size(filter, d) - 1) * dilations[d] + 1;
    const auto from = known_size(y, format.space(d));
    // Without sizes: the input size of a forward convolution that is a multiple of the stride.
    std::int64_t cut =
        padding == "SAME" ? reach - strides[d] : explicit_ones[d] + explicit_ones[d + format.dims];
    if (from && sizes_known) {
      const std::int64_t to = sizes[format.space(d)];
      check(*from <= largest && to >= 0 && to <= largest, ErrorCode::bad_data,
            "a transposed convolution from size {} to {}", *from, to);
      cut = (*from - 1) * strides[d] + reach - to;
    }
    if (padding == "SAME") {
      pads[d] = std::max<std::int64_t>(cut, 0) / 2;
      pads[d + format.dims] = std::max<std::int64_t>(cut, 0) - pads[d];
    } else {
      pads[d] = explicit_ones[d];
      pads[d + format.dims] = explicit_ones[d + format.dims];
    }
    extra[d] = pads[d] + pads[d + format.dims] - cut;
    check(extra[d] >= 0, ErrorCode::bad_data, "no convolution of stride {} gives the requested sizes",
          strides[d]);
  }
  attributes.set("strides", strides);
  attributes.set("dilations", dilations);
  attributes.set("pads", std::move(pads));
  attributes.set("output_padding", std::move(extra));
}

Rule transposed_convolution(std::size_t dims) {
  return [dims](RuleContext& context) {
    const DataFormat format = data_format(context, dims);
    Value *x = context.required(2), *filter = context.required(1);
    AttributeMap attributes;
    set_transposed_padding(context, format, filter, attributes);
    Value* y = context.emit("conv_transpose",
                            {channels_first(context, as_reals(context, x), format),
                             transposed_filter(context, as_reals(context, filter), dims)},
                            std::move(attributes));
    context.set_output(0, as_type_of(context, as_source(context, y, format), x));
  };
}

/// Version 2 of maximum pooling has kernel and strides as inputs.
std::vector<std::int64_t> window_list(RuleContext& context, std::size_t input, const char* name,
                                      const DataFormat& format) {
  if (context.inputs() == 1) return required_spatial(context, name, format);
  const std::vector<std::int64_t> list = known_integers(context, input);
  check(list.size() == format.dims + 2 && list[0] == 1 && list[format.channel()] == 1, ErrorCode::unsupported,
        "input {}: expected a number for each dim, 1 for batch and channels", input);
  std::vector<std::int64_t> result;
  for (std::size_t d = 0; d < format.dims; ++d) result.push_back(list[format.space(d)]);
  return result;
}

constexpr const char* wide_pooling =
    "maximum pooling of 64-bit integers; cast the values to a narrower type before";

Value* poolable(RuleContext& context, Value* x) {
  const DType type = x->type.dtype();
  check(type != DType::i64 && type != DType::u64, ErrorCode::unsupported, "{}", wide_pooling);
  return type == DType::i8 || type == DType::u8 ? x : as_reals(context, x);
}

Rule pooling(const char* op, std::size_t dims) {
  return [op, dims](RuleContext& context) {
    const DataFormat format = data_format(context, dims);
    AttributeMap attributes;
    attributes.set("kernel_shape", window_list(context, 1, "ksize", format));
    attributes.set("strides", window_list(context, 2, "strides", format));
    set_padding(context, format, attributes);
    Value* x = context.required(0);
    Value* y =
        context.emit(op, {channels_first(context, poolable(context, x), format)}, std::move(attributes));
    context.set_output(0, cast(context, as_source(context, y, format), x->type.dtype()));
  };
}

/// Our indices count within channels first, TensorFlow's within [height, width, channels], where wanted with
/// the batch.
void pooling_with_index(RuleContext& context) {
  const DataFormat format;
  AttributeMap attributes;
  attributes.set("kernel_shape", required_spatial(context, "ksize", format));
  attributes.set("strides", required_spatial(context, "strides", format));
  set_padding(context, format, attributes);
  Value* x = context.required(0);
  Value* first = channels_first(context, poolable(context, x), format);
  Node* made = context.emit_node("max_pool", {first}, std::move(attributes), 2);
  context.set_output(0, cast(context, as_source(context, made->output(0), format), x->type.dtype()));
  Value* sizes = context.emit("shape", {x});
  const auto size = [&](std::int64_t d) {
    return context.emit("gather", {sizes, context.scalar(DType::i64, static_cast<double>(d))});
  };
  const auto up_to = [&](Value* count) {
    return context.emit("range", {context.scalar(DType::i64, 0), count, context.scalar(DType::i64, 1)});
  };
  Value* plane = context.emit("mul", {size(1), size(2)});
  Value* place = context.emit("mod", {as_source(context, made->output(1), format), plane});
  place = context.emit("add", {context.emit("mul", {place, size(3)}), up_to(size(3))});
  if (context.integer("include_batch_in_index", 0) != 0) {
    Value* image = context.emit("mul", {up_to(size(0)), context.emit("mul", {plane, size(3)})});
    place = context.emit("add", {place, reshaped(context, image, {-1, 1, 1, 1})});
  }
  const DType type = context.has_attribute("Targmax") ? context.dtype("Targmax") : DType::i64;
  context.set_output(1, cast(context, place, type));
}

void require_bias(const Type& x, const Type& bias, bool channels_first) {
  bool fits = !bias.ranked() || bias.rank() == 1;
  if (x.ranked() && bias.ranked() && fits) {
    fits = x.rank() >= 2;
    const auto channels = fits ? x.dims()[channels_first ? 1 : x.rank() - 1].constant() : std::nullopt,
               biases = bias.dims()[0].constant();
    fits = fits && (!channels || !biases || *channels == *biases);
  }
  check(fits, ErrorCode::bad_data, "a bias of type {} for {}; expected one number per channel",
        bias.to_string(), x.to_string());
}

void bias_add(RuleContext& context) {
  context.set_output(0, with_bias(context, context.required(0), context.required(1)));
}

constexpr const char* training =
    "it is in training mode (is_training=True), in which it uses the statistics of "
    "each batch; export the model for inference (training=False), or build it "
    "with freeze_batch_norm to use its moving averages";

void batch_norm(RuleContext& context) {
  context.set_output(0, batch_norm_of(context, context.required(0), 1));
  for (std::size_t i = 1; i < context.node.outputs.size(); ++i)
    context.set_output(i, context.required(i % 2 == 1 ? 3 : 4));
}

/// TensorFlow's alpha applies to each neighbour, ours to all of them together.
void local_response(RuleContext& context) {
  const std::int64_t radius = context.integer("depth_radius", 5);
  check(radius >= 0 && radius < (1 << 20), ErrorCode::bad_data, "attribute depth_radius is {}", radius);
  const std::int64_t size = 2 * radius + 1;
  const DataFormat format;
  AttributeMap attributes;
  attributes.set("size", size);
  attributes.set("alpha", context.real("alpha", 1) * static_cast<double>(size));
  attributes.set("beta", context.real("beta", 0.5));
  attributes.set("bias", context.real("bias", 1));
  Value* y =
      context.emit("lrn", {channels_first(context, context.required(0), format)}, std::move(attributes));
  context.set_output(0, as_source(context, y, format));
}

} // namespace

Value* convolution_of(RuleContext& context, std::size_t dims) {
  const DataFormat format = data_format(context, dims);
  Value *x = context.required(0), *filter = context.required(1);
  AttributeMap attributes;
  attributes.set("strides", required_spatial(context, "strides", format));
  attributes.set("dilations", spatial(context, "dilations", format));
  set_padding(context, format, attributes);
  const std::int64_t own = filter_size(filter, dims);
  const auto channels = known_size(x, format.channel());
  attributes.set("group", channels ? std::max<std::int64_t>(*channels / own, 1) : std::int64_t{1});
  Value* y = context.emit("conv",
                          {channels_first(context, as_reals(context, x), format),
                           transposed_filter(context, as_reals(context, filter), dims)},
                          std::move(attributes));
  return as_type_of(context, as_source(context, y, format), x);
}

/// The filter is [height, width, channels, multiplier]: each channel has filters of its own.
Value* depthwise_of(RuleContext& context) {
  const DataFormat format = data_format(context);
  Value* filter = context.required(1);
  const std::int64_t height = filter_size(filter, 0), width = filter_size(filter, 1),
                     channels = filter_size(filter, 2);
  AttributeMap attributes;
  attributes.set("strides", required_spatial(context, "strides", format));
  attributes.set("dilations", spatial(context, "dilations", format));
  attributes.set("group", channels);
  set_padding(context, format, attributes);
  Value* weights = reshaped(context, transpose(context, filter, {2, 3, 0, 1}), {-1, 1, height, width});
  Value* y = context.emit("conv", {channels_first(context, context.required(0), format), weights},
                          std::move(attributes));
  return as_source(context, y, format);
}

Value* with_bias(RuleContext& context, Value* x, Value* bias) {
  const bool first = context.string("data_format", "NHWC").starts_with("NC");
  require_bias(x->type, bias->type, first);
  if (first) {
    check(x->type.ranked(), ErrorCode::unsupported, "the rank of input 0 must be known before running");
    std::vector<std::int64_t> trailing;
    for (std::size_t d = 2; d < x->type.rank(); ++d) trailing.push_back(static_cast<std::int64_t>(d) - 1);
    if (!trailing.empty()) bias = unsqueezed(context, bias, std::move(trailing));
  }
  return context.emit("add", {x, bias});
}

Value* batch_norm_of(RuleContext& context, Value* x, std::size_t first) {
  check(context.integer("is_training", context.node.op.starts_with("Fused") ? 1 : 0) == 0 ||
            context.options().tensorflow.freeze_batch_norm,
        ErrorCode::unsupported, "{}", training);
  const std::string named = context.string("data_format", "NHWC");
  const DataFormat format = data_format(context, named.size() == 5 ? 3 : 2);
  Value* y =
      context.emit("batch_normalization",
                   {channels_first(context, x, format), context.required(first), context.required(first + 1),
                    context.required(first + 2), context.required(first + 3)},
                   with("epsilon", context.real("epsilon", 1e-4)));
  return as_source(context, y, format);
}

void add_layer_rules(Rules& rules) {
  rules["Conv2D"] = [](RuleContext& context) { context.set_output(0, convolution_of(context, 2)); };
  rules["Conv3D"] = [](RuleContext& context) { context.set_output(0, convolution_of(context, 3)); };
  rules["DepthwiseConv2dNative"] = [](RuleContext& context) { context.set_output(0, depthwise_of(context)); };
  rules["Conv2DBackpropInput"] = transposed_convolution(2);
  rules["Conv3DBackpropInputV2"] = transposed_convolution(3);
  rules["MaxPool"] = rules["MaxPoolV2"] = {pooling("max_pool", 2), {wide_pooling}};
  rules["MaxPoolWithArgmax"] = {pooling_with_index, {wide_pooling}};
  rules["AvgPool"] = pooling("average_pool", 2);
  rules["MaxPool3D"] = pooling("max_pool", 3);
  rules["AvgPool3D"] = pooling("average_pool", 3);
  rules["BiasAdd"] = bias_add;
  rules["BiasAddV1"] = bias_add;
  rules["FusedBatchNorm"] = rules["FusedBatchNormV2"] = rules["FusedBatchNormV3"] = {batch_norm, {training}};
  rules["LRN"] = local_response;
  note_limit(rules, {"MaxPoolV2"}, open_setting);
  note_limit(rules,
             {"Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv3DBackpropInputV2"},
             open_filter);
}

} // namespace lanner::tensorflow
