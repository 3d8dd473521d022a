#include "ops/convolution/convolution.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_conv(InferContext& context) {
  infer_convolution(context, 0, 1, context.input(0).dtype());
  if (!context.has(2) || !context.input(2).ranked() || !context.input(1).ranked()) return;
  require_rank(context, 2, 1);
  require_equal(context.input(2).dims()[0], context.input(1).dims()[0], "the bias's size");
}

static void run_conv(KernelContext& context) {
  const auto conv = Convolution::read(context.attributes(), context.input(0).shape(),
                                      context.input(1).shape(), context.output(0).shape());
  run_products(context, conv.outputs, conv.window.position_count(),
               [&]<typename T>(std::span<const T> x, std::span<const T> w, std::span<T> y) {
                 convolve<T>(conv, x, w, y, context.threads());
               });
}

static std::optional<SummedAxis> summed_channels(const Node& node) {
  if (!has_rank(node.input(0), 3) || !has_rank(node.input(1), 3)) return std::nullopt;
  return SummedAxis{1, node.input(1)->type.dims()[1] * node.attributes.integer("group", 1)};
}

/// Each element of the result is multiplied by the weights of one output channel.
static std::uint64_t count_flops(const Node& node) {
  return convolution_flops(node, node.output());
}

std::vector<OpDef> conv_ops() {
  return {OpDef{.name = "conv",
                .min_inputs = 2,
                .max_inputs = 3,
                .operands = {{"x", dtypes::floats, 'T', "N _ D ..."},
                             {"weights", dtypes::floats, 'T', "M _ _ ..."},
                             {"bias", dtypes::floats, 'T', "M"}},
                .attributes = convolution_attribute_specs(),
                .infer = infer_conv,
                .reference = run_conv,
                .expand = {},
                .traits = {.pattern = Pattern::contraction,
                           .accumulates = true,
                           .per_image = true,
                           .split = splits_images,
                           .summed = summed_channels,
                           .flops = count_flops}}};
}

} // namespace lanner::ops
