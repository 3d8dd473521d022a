// layer_normalization, batch_normalization (where it could not be folded into a convolution) and lrn.

#include <limits>

#include "backends/onednn/single.h"

namespace lanner::onednn {

namespace {

float real_of(const GroupOp& op, const char* name, double fallback) {
  return static_cast<float>(op.attributes().real(name, fallback));
}

float epsilon_of(const GroupOp& op) {
  return real_of(op, "epsilon", 1e-5);
}

bool all_f32(const GroupOp& op) {
  for (const Operand& operand : op.inputs)
    if (operand && operand.dtype() != DType::f32) return false;
  return true;
}

bool takes_layer(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "layer_normalization") return false;
  const Shape shape = op.input(0).shape();
  const std::int64_t axis = op.attributes().integer("axis", -1),
                     rank = static_cast<std::int64_t>(shape.rank());
  const auto whole_axis = [&](const Operand& operand) {
    return operand && operand.shape() == Shape{shape.back()};
  };
  for (std::size_t i = 1; i < op.node->outputs().size(); ++i)
    if (!op.node->output(i)->unused()) return false;
  if (all_f32(op) && rank >= 2 && rank <= 5 && (axis == -1 || axis == rank - 1) && whole_axis(op.input(1)) &&
      whole_axis(op.input(2)))
    return true;
  reason = "supports f32 of rank 2 to 5, the last axis, a scale and a bias of "
           "its size";
  return false;
}

Primitive make_layer(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const Shape shape = op.input(0).shape();
  const auto data = describe(shape, from, DType::f32), scale = describe(Shape{shape.back()}, {}, DType::f32);
  if (!data || from != to) return {};
  return {layer_normalization(*data, epsilon_of(op), attributes()),
          {argument(DNNL_ARG_SRC, *data, op.input(0)), argument(DNNL_ARG_SCALE, *scale, op.input(1)),
           argument(DNNL_ARG_SHIFT, *scale, op.input(2)), output_argument(DNNL_ARG_DST, *data)}};
}

bool takes_batch(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "batch_normalization") return false;
  const std::size_t rank = op.input(0).shape().rank();
  const bool training = op.attributes().flag("training_mode") || op.node->outputs().size() > 1;
  if (all_f32(op) && rank >= 2 && rank <= 5 && !training) return true;
  reason = "supports f32 of rank 2 to 5 for inference";
  return false;
}

Primitive make_batch(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const Shape shape = op.input(0).shape();
  const auto data = describe(shape, from, DType::f32), channel = describe(Shape{shape[1]}, {}, DType::f32);
  // Channel padding of blocks has variance 0 and must stay 0.
  const bool padded = from.padded(shape) != shape;
  if (!data || from != to || (padded && epsilon_of(op) < std::numeric_limits<float>::min())) return {};
  return {batch_normalization(*data, epsilon_of(op), attributes()),
          {argument(DNNL_ARG_SRC, *data, op.input(0)), argument(DNNL_ARG_SCALE, *channel, op.input(1)),
           argument(DNNL_ARG_SHIFT, *channel, op.input(2)), argument(DNNL_ARG_MEAN, *channel, op.input(3)),
           argument(DNNL_ARG_VARIANCE, *channel, op.input(4)), output_argument(DNNL_ARG_DST, *data)}};
}

bool takes_lrn(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "lrn") return false;
  const bool odd = op.attributes().integer("size", 0) % 2 == 1;
  // Otherwise the base of the power may be <= 0, also in padding.
  const bool positive = real_of(op, "alpha", 1e-4) >= 0 && real_of(op, "bias", 1) > 0;
  if (op.input(0).dtype() == DType::f32 && op.input(0).shape().rank() == 4 && odd && positive) return true;
  reason = "supports f32 of rank 4, an odd size, a non-negative alpha and a positive bias";
  return false;
}

Primitive make_lrn(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const auto data = describe(op.input(0).shape(), from, DType::f32);
  if (!data || from != to) return {};
  return {lrn(*data, op.attributes().integer("size", 1), real_of(op, "alpha", 1e-4),
              real_of(op, "beta", 0.75), real_of(op, "bias", 1), attributes()),
          {argument(DNNL_ARG_SRC, *data, op.input(0)), output_argument(DNNL_ARG_DST, *data)}};
}

constexpr SinglePrimitive layer{"layer_normalization", takes_layer, make_layer, true};
constexpr SinglePrimitive batch{"batch_normalization", takes_batch, make_batch};
constexpr SinglePrimitive across{"lrn", takes_lrn, make_lrn};

} // namespace

extern const KernelFamily layer_normalization_family{
    "layer_normalization", swept_versions,
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(layer, n, g, t); },
    [](const Preparation& p) { return single_prepare(layer, p); }};
extern const KernelFamily batch_normalization_family{
    "batch_normalization", swept_versions,
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(batch, n, g, t); },
    [](const Preparation& p) { return single_prepare(batch, p); }};
extern const KernelFamily lrn_family{
    "lrn", swept_versions,
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(across, n, g, t); },
    [](const Preparation& p) { return single_prepare(across, p); }};

} // namespace lanner::onednn
