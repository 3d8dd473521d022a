// softmax and log_softmax.

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/onednn/single.h"

namespace lanner::onednn {

namespace {

bool takes(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "softmax" && op.kind() != "log_softmax") return false;
  const std::size_t rank = op.input(0).shape().rank();
  if (op.input(0).dtype() == DType::f32 && rank > 0 && rank <= 6) return true;
  reason = "onednn: softmax takes f32 of rank 1 to 6";
  return false;
}

Primitive make(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const Shape shape = op.input(0).shape();
  const auto data = describe(shape, from, DType::f32);
  if (!data || from != to) return {};
  const std::int64_t axis = op.attributes().integer("axis", -1);
  const auto rank = static_cast<std::int64_t>(shape.rank());
  return {softmax(*data, static_cast<int>(axis < 0 ? axis + rank : axis), op.kind() == "log_softmax",
                  attributes()),
          {argument(DNNL_ARG_SRC, *data, op.input(0)), output_argument(DNNL_ARG_DST, *data)}};
}

/// oneDNN's hides a NaN by the largest element, and by bounds of exponents.
const Backend* keeper(const GroupOp& /*op*/) {
  return &cpu_backend();
}

constexpr SinglePrimitive single{"softmax", takes, make, false, keeper};

} // namespace

const KernelFamily softmax_family{
    "softmax", [](const Node& n, const Group& g, const Target& t) { return single_tactics(single, n, g, t); },
    [](const Preparation& p) { return single_prepare(single, p); }, nullptr};

} // namespace lanner::onednn
