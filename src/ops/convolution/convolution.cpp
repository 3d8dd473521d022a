#include "ops/convolution/convolution.h"

#include "base/check.h"
#include "ops/traits.h"

namespace lanner::ops {

std::vector<AttributeSpec> convolution_attribute_specs() {
  std::vector<AttributeSpec> specs = window_attribute_specs();
  specs.push_back(integer_attribute("group", 1, between(1, INT32_MAX)));
  specs.push_back(optional_attribute("kernel_shape", AttributeKind::integers, window_range(1)));
  return specs;
}

std::uint64_t convolution_flops(const Node& node, const Value* met) {
  const Shape weights = node.input(1)->type.shape();
  if (weights.rank() < 2 || weights[0] == 0) return 0;
  return 2 * element_count(met) * (element_count(node.input(1)) / static_cast<std::uint64_t>(weights[0]));
}

void check_kernel_shape(const AttributeMap& attributes, std::span<const Dim> kernel) {
  const std::vector<std::int64_t> declared = attributes.integers("kernel_shape");
  if (declared.empty()) return;
  check(declared.size() == kernel.size(), ErrorCode::invalid_argument,
        "kernel_shape has {} values, expected {}", declared.size(), kernel.size());
  for (std::size_t d = 0; d < kernel.size(); ++d)
    require_equal(kernel[d], declared[d], "the weights' kernel size");
}

void infer_convolution(InferContext& context, std::size_t x, std::size_t w, DType type) {
  const Type &image = context.input(x), &weights = context.input(w);
  if (!image.ranked() || !weights.ranked()) return context.set_output(0, Type::unranked(type));
  const std::size_t rank = image.rank();
  check(rank >= 3 && weights.rank() == rank, ErrorCode::invalid_argument,
        "image {} and weights {}: expected equal ranks of at least 3", image.to_string(),
        weights.to_string());
  const std::int64_t groups = context.attributes().integer("group", 1);
  check(groups >= 1, ErrorCode::invalid_argument, "group is {}, expected at least 1", groups);
  require_equal(image.dims()[1], weights.dims()[1] * groups, "the image's channel count");
  require_equal(mod(weights.dims()[0], groups), 0, "the remainder of output channels over groups");

  const auto kernel = std::span(weights.dims()).subspan(2);
  check_kernel_shape(context.attributes(), kernel);
  const WindowAttributes window = WindowAttributes::read(context.attributes(), rank - 2);
  Dims dims{image.dims()[0], weights.dims()[0]};
  for (Dim& positions : window_positions(window, std::span(image.dims()).subspan(2), kernel))
    dims.push_back(std::move(positions));
  context.set_output(0, Type(type, std::move(dims)));
}

Convolution Convolution::read(const AttributeMap& attributes, const Shape& x, const Shape& w,
                              const Shape& y) {
  const auto spatial = [](const Shape& shape) { return std::span(shape.dims()).subspan(2); };
  Convolution conv;
  conv.batch = x[0];
  conv.inputs = x[1];
  conv.outputs = y[1];
  conv.groups = attributes.integer("group", 1);
  const auto window = WindowAttributes::read(attributes, x.rank() - 2);
  conv.window = resolve_window(window, spatial(x), spatial(y), spatial(w));
  return conv;
}

} // namespace lanner::ops
