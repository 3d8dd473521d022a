#include <algorithm>

#include "base/check.h"
#include "ops/convolution/convolution.h"
#include "ops/convolution/interpolation.h"
#include "ops/definition/visit.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Dai et al., "Deformable Convolutional Networks", 2017; with a mask, Zhu et al., "Deformable ConvNets v2",
// 2018.

static void infer_deform_conv(InferContext& context) {
  infer_convolution(context, 0, 1, context.input(0).dtype());
  const std::int64_t groups = context.attributes().integer("offset_group", 1);
  check(groups >= 1, ErrorCode::invalid_argument, "offset_group is {}, expected at least 1", groups);
  const Type &x = context.input(0), &w = context.input(1), &offset = context.input(2);
  if (!x.ranked() || !w.ranked() || !offset.ranked()) return;
  require_rank(context, 2, x.rank());
  check(x.rank() <= 10, ErrorCode::unsupported, "image is {}, expected at most 8 spatial axes",
        x.to_string());
  require_equal(mod(x.dims()[1], groups), 0, "the remainder of input channels over offset_group");
  const Dim taps = product(Dims(w.dims().begin() + 2, w.dims().end()));
  require_equal(offset.dims()[1], taps * groups * static_cast<std::int64_t>(x.rank() - 2),
                "the offset's channel count");
  require_equal(offset.dims()[0], x.dims()[0], "the offset's batch size");
  if (!context.has(4) || !context.input(4).ranked()) return;
  require_rank(context, 4, x.rank());
  require_equal(context.input(4).dims()[1], taps * groups, "the mask's channel count");
}

struct DeformInputs {
  Tensor x, w, offset, bias, mask; ///< In double; bias and mask may be undefined.
};

/// Column c * taps + t of one image: channel c sampled for tap t at every position.
static Tensor sample_columns(const Convolution& conv, const DeformInputs& in, std::int64_t n,
                             std::int64_t offset_groups, int threads) {
  const Window& window = conv.window;
  const std::int64_t taps = window.taps(), plane = window.position_count(), image = window.image_elements();
  const auto rank = static_cast<std::int64_t>(window.image.size());
  Tensor columns = Tensor::allocate(DType::f64, {conv.inputs * taps, plane});
  for_each_row(threads, conv.inputs * taps, [&](std::int64_t row) {
    const std::int64_t c = row / taps, t = row % taps, group = c / (conv.inputs / offset_groups);
    const std::int64_t first = (n * offset_groups + group) * taps + t;
    const double* source = in.x.as<double>().data() + (n * conv.inputs + c) * image;
    const double* shift = in.offset.as<double>().data() + first * rank * plane;
    const double* scale = in.mask.defined() ? in.mask.as<double>().data() + first * plane : nullptr;
    std::vector<std::int64_t> position(window.positions.size(), 0);
    std::vector<double> at(position.size());
    for (std::int64_t p = 0; p < plane; ++p, next_index(position, window.positions)) {
      std::int64_t rest = t;
      for (std::size_t d = at.size(); d-- > 0; rest /= window.kernel[d]) {
        const std::int64_t base =
            position[d] * window.strides[d] + rest % window.kernel[d] * window.dilations[d] - window.begin[d];
        at[d] = static_cast<double>(base) + shift[static_cast<std::int64_t>(d) * plane + p];
      }
      const double value = interpolate_linear(source, window.image, at);
      columns.as<double>()[static_cast<std::size_t>(row * plane + p)] = scale ? value * scale[p] : value;
    }
  });
  return columns;
}

static void multiply_columns(const Convolution& conv, const DeformInputs& in, const Tensor& columns,
                             double* y, int threads) {
  const std::int64_t plane = conv.window.position_count(),
                     depth = conv.inputs / conv.groups * conv.window.taps();
  for_each_row(threads, conv.outputs, [&](std::int64_t m) {
    const std::int64_t group = m / (conv.outputs / conv.groups);
    const double* weights = in.w.as<double>().data() + m * depth;
    const double* source = columns.as<double>().data() + group * depth * plane;
    double* out = y + m * plane;
    std::fill_n(out, plane, in.bias.defined() ? in.bias.as<double>()[static_cast<std::size_t>(m)] : 0.0);
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t p = 0; p < plane; ++p) out[p] += weights[k] * source[k * plane + p];
  });
}

static void run_deform_conv(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const auto wide = [&](std::size_t i) {
    return context.has(i) ? to_dtype(context.input(i), DType::f64) : Tensor();
  };
  const DeformInputs in{wide(0), wide(1), wide(2), wide(3), wide(4)};
  const Shape& shape = context.output(0).shape();
  const auto conv = Convolution::read(context.attributes(), in.x.shape(), in.w.shape(), shape);
  const std::int64_t plane = conv.window.position_count();
  check(in.offset.elements() == conv.batch * in.offset.shape()[1] * plane, ErrorCode::invalid_argument,
        "the offset has shape {}, which does not fit output {}", in.offset.shape().to_string(),
        shape.to_string());
  check(!in.mask.defined() || in.mask.elements() == conv.batch * in.mask.shape()[1] * plane,
        ErrorCode::invalid_argument, "the mask does not fit output {}", shape.to_string());
  const std::int64_t offset_groups = context.attributes().integer("offset_group", 1);
  for (std::int64_t n = 0; n < conv.batch && plane > 0; ++n) {
    const Tensor columns = sample_columns(conv, in, n, offset_groups, context.threads());
    multiply_columns(conv, in, columns, y.as<double>().data() + n * conv.outputs * plane, context.threads());
  }
  y.store();
}

std::vector<OpDef> deform_conv_ops() {
  std::vector<AttributeSpec> attributes = convolution_attribute_specs();
  std::erase_if(attributes, [](const AttributeSpec& spec) { return spec.name == "auto_pad"; });
  attributes.push_back(integer_attribute("offset_group", 1, between(1, INT32_MAX)));
  return {
      OpDef{.name = "deform_conv",
            .min_inputs = 3,
            .max_inputs = 5,
            .operands = {{"x", dtypes::floats, 'T', "N _ D ..."},
                         {"weights", dtypes::floats, 'T', "M _ _ ..."},
                         {"offset", dtypes::floats, 'T', "N _ _ ..."},
                         {"bias", dtypes::floats, 'T', "M"},
                         {"mask", dtypes::floats, 'T', "N _ _ ..."}},
            .attributes = std::move(attributes),
            .infer = infer_deform_conv,
            .reference = run_deform_conv,
            .expand = {},
            .traits = {.pattern = Pattern::contraction, .accumulates = true, .flops = [](const Node& node) {
                         return convolution_flops(node, node.output());
                       }}}};
}

} // namespace lanner::ops
