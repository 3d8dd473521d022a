#include <algorithm>

#include "base/check.h"
#include "ops/convolution/convolution.h"
#include "ops/definition/bounds.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// The adjoint of conv: the output is the image that windows slide over, the input has one value per window
// position.

static std::vector<std::int64_t> output_padding(const AttributeMap& attributes,
                                                const WindowAttributes& window) {
  const std::size_t rank = window.strides.size();
  std::vector<std::int64_t> padding = attributes.integers("output_padding");
  if (padding.empty()) padding.assign(rank, 0);
  check(padding.size() == rank, ErrorCode::invalid_argument, "output_padding has {} values, expected {}",
        padding.size(), rank);
  // More would add positions that no window of the forward convolution could have skipped.
  for (std::size_t d = 0; d < rank; ++d)
    require_within("output_padding", padding[d], 0, std::max(window.strides[d], window.dilations[d]) - 1);
  return padding;
}

/// Sizes of the spatial axes from attribute output_shape; empty where it is absent. Some exporters put the
/// batch and channel sizes first, which must match.
static std::vector<std::int64_t> requested_sizes(const AttributeMap& attributes, const Dims& outer,
                                                 std::size_t spatial) {
  std::vector<std::int64_t> requested = attributes.integers("output_shape");
  check(requested.empty() || requested.size() == spatial || requested.size() == spatial + outer.size(),
        ErrorCode::invalid_argument, "output_shape has {} values, expected {}", requested.size(), spatial);
  for (const std::int64_t size : requested) require_within("output_shape", size, 1, largest_window_size);
  for (std::size_t i = 0; i + spatial < requested.size(); ++i)
    require_equal(requested[i], outer[i], i == 0 ? "output_shape's batch" : "output_shape's channel count");
  requested.erase(requested.begin(),
                  requested.end() - static_cast<std::ptrdiff_t>(std::min(spatial, requested.size())));
  return requested;
}

/// `full`: the extent that windows cover. A smaller size is cropped; a larger one may exceed it by less than
/// a stride.
static void check_requested(std::int64_t requested, const Dim& full, std::size_t axis,
                            const WindowAttributes& window) {
  if (!full.is_constant()) return;
  const std::int64_t most = full.value() + std::max(window.strides[axis], window.dilations[axis]) - 1;
  check(requested <= most, ErrorCode::invalid_argument,
        "output_shape is {} along spatial axis {}, where windows cover {}; expected at most {}", requested,
        axis, full.value(), most);
}

static Dims output_sizes(const AttributeMap& attributes, const Dims& outer, std::span<const Dim> x,
                         std::span<const Dim> kernel) {
  check_kernel_shape(attributes, kernel);
  const auto window = WindowAttributes::read(attributes, x.size());
  const auto padding = output_padding(attributes, window);
  const auto requested = requested_sizes(attributes, outer, x.size());
  const auto pads = attributes.integers("pads");
  check(window.auto_pad == WindowAttributes::AutoPad::notset ||
            std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; }),
        ErrorCode::invalid_argument, "both auto_pad {} and pads are given, expected one",
        attributes.string("auto_pad", "NOTSET"));
  Dims sizes;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const Dim full = (x[d] - 1) * window.strides[d] + (kernel[d] - 1) * window.dilations[d] + 1;
    if (!requested.empty()) {
      check_requested(requested[d], full, d, window);
      sizes.emplace_back(requested[d]);
    } else if (window.same()) {
      sizes.push_back(x[d] * window.strides[d]);
    } else {
      sizes.push_back(full + padding[d] - window.begin[d] - window.end[d]);
    }
    check(!sizes[d].is_constant() || sizes[d].value() >= 0, ErrorCode::invalid_argument,
          "pads leave {} elements of spatial axis {}", sizes[d].to_string(), d);
  }
  return sizes;
}

static void infer_conv_transpose(InferContext& context) {
  const Type &x = context.input(0), &w = context.input(1);
  if (!x.ranked() || !w.ranked()) return context.set_output(0, Type::unranked(x.dtype()));
  check(x.rank() >= 3 && w.rank() == x.rank(), ErrorCode::invalid_argument,
        "image {} and weights {}: expected equal ranks of at least 3", x.to_string(), w.to_string());
  const std::int64_t groups = context.attributes().integer("group", 1);
  check(groups >= 1, ErrorCode::invalid_argument, "group is {}, expected at least 1", groups);
  require_equal(x.dims()[1], w.dims()[0], "the image's channel count");
  require_equal(mod(x.dims()[1], groups), 0, "the remainder of input channels over groups");
  const Dim channels = w.dims()[1] * groups;
  if (context.has(2) && context.input(2).ranked()) {
    require_rank(context, 2, 1);
    require_equal(context.input(2).dims()[0], channels, "the bias's size");
  }
  Dims dims{x.dims()[0], channels};
  const Dims sizes = output_sizes(context.attributes(), dims, std::span(x.dims()).subspan(2),
                                  std::span(w.dims()).subspan(2));
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  context.set_output(0, Type(x.dtype(), std::move(dims)));
}

// auto_pad and output_shape determine the output's size, from which the padding follows.
static void resolve_padding(const AttributeMap& attributes, const WindowAttributes& given, Window& window) {
  if (!given.same() && attributes.integers("output_shape").empty()) return;
  const auto padding = output_padding(attributes, given);
  for (std::size_t d = 0; d < window.image.size(); ++d) {
    const std::int64_t extent = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const std::int64_t full = (window.positions[d] - 1) * window.strides[d] + padding[d] + extent;
    const std::int64_t total = std::max<std::int64_t>(full - window.image[d], 0);
    window.begin[d] = given.auto_pad == WindowAttributes::AutoPad::same_upper ? total / 2 : total - total / 2;
    window.end[d] = total - window.begin[d];
  }
}

static Convolution read_adjoint(const AttributeMap& attributes, const Shape& x, const Shape& w,
                                const Shape& y) {
  const auto spatial = [](const Shape& shape) { return std::span(shape.dims()).subspan(2); };
  const auto given = WindowAttributes::read(attributes, x.rank() - 2);
  Convolution conv;
  conv.batch = x[0];
  conv.inputs = x[1];
  conv.outputs = y[1];
  conv.groups = attributes.integer("group", 1);
  conv.window = resolve_window(given, spatial(y), spatial(x), spatial(w));
  resolve_padding(attributes, given, conv.window);
  return conv;
}

template<typename T>
static void scatter(const Convolution& conv, std::span<const T> x, std::span<const T> w, std::span<T> y,
                    int threads) {
  const Window& window = conv.window;
  const std::int64_t depth = conv.inputs / conv.groups, width = conv.outputs / conv.groups;
  const std::int64_t image = window.image_elements(), plane = window.position_count(), taps = window.taps();
  const std::int64_t stride = window.strides.back();
  for_each_row(threads, conv.batch * conv.outputs, [&](std::int64_t row) {
    const std::int64_t n = row / conv.outputs, m = row % conv.outputs, group = m / width;
    T* out = y.data() + row * image;
    for_each_tap(window, [&](std::int64_t t, std::span<const std::int64_t> tap) {
      for_each_run(window, tap, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
        for (std::int64_t c = group * depth; c < (group + 1) * depth; ++c) {
          const T weight = w[static_cast<std::size_t>((c * width + m % width) * taps + t)];
          const T* in = x.data() + (n * conv.inputs + c) * plane + from;
          for (std::int64_t i = 0; i < count; ++i) out[to + i * stride] += weight * in[i];
        }
      });
    });
  });
}

static void run_conv_transpose(KernelContext& context) {
  const Convolution conv = read_adjoint(context.attributes(), context.input(0).shape(),
                                        context.input(1).shape(), context.output(0).shape());
  run_products(context, conv.outputs, conv.window.image_elements(),
               [&]<typename T>(std::span<const T> x, std::span<const T> w, std::span<T> y) {
                 scatter<T>(conv, x, w, y, context.threads());
               });
}

static std::optional<SummedAxis> summed_channels(const Node& node) {
  if (!has_rank(node.input(0), 3) || !has_rank(node.input(1), 3)) return std::nullopt;
  return SummedAxis{1, node.input(1)->type.dims()[0]};
}

/// Each element of the operand is multiplied by the weights of one input channel.
static std::uint64_t count_flops(const Node& node) {
  return convolution_flops(node, node.input(0));
}

std::vector<OpDef> conv_transpose_ops() {
  std::vector<AttributeSpec> attributes = convolution_attribute_specs();
  attributes.push_back(optional_attribute("output_padding", AttributeKind::integers, window_range(0)));
  attributes.push_back(optional_attribute("output_shape", AttributeKind::integers, window_range(1)));
  return {OpDef{.name = "conv_transpose",
                .min_inputs = 2,
                .max_inputs = 3,
                .operands = {{"x", dtypes::floats, 'T', "N C D ..."},
                             {"weights", dtypes::floats, 'T', "C _ _ ..."},
                             {"bias", dtypes::floats, 'T', "_"}},
                .attributes = std::move(attributes),
                .infer = infer_conv_transpose,
                .reference = run_conv_transpose,
                .expand = {},
                .traits = {.pattern = Pattern::contraction,
                           .accumulates = true,
                           .per_image = true,
                           .split = splits_images,
                           .summed = summed_channels,
                           .flops = count_flops}}};
}

} // namespace lanner::ops
