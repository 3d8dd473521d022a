// softmax and log_softmax.

#include "backends/cpu/cpu_backend.h"
#include "backends/onednn/single.h"
#include "ops/definition/axis.h"

namespace lanner::onednn {

namespace {

std::size_t axis_of(const GroupOp& op) {
  return ops::resolve_axis(op.attributes().integer("axis", -1), op.input(0).shape().rank());
}

bool takes(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "softmax" && op.kind() != "log_softmax") return false;
  const std::size_t rank = op.input(0).shape().rank();
  // The log_softmax of a single element is 0, for which oneDNN returns 1e-6.
  const bool long_enough = op.kind() == "softmax" || rank == 0 || op.input(0).shape()[axis_of(op)] > 1;
  if (op.input(0).dtype() == DType::f32 && rank > 0 && rank <= 6 && long_enough) return true;
  reason = "supports f32 of rank 1 to 6, and for log_softmax two or more elements along the axis";
  return false;
}

Primitive make(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const Shape shape = op.input(0).shape();
  const auto data = describe(shape, from, DType::f32);
  if (!data || from != to) return {};
  return {softmax(*data, static_cast<int>(axis_of(op)), op.kind() == "log_softmax", attributes()),
          {argument(DNNL_ARG_SRC, *data, op.input(0)), output_argument(DNNL_ARG_DST, *data)}};
}

/// oneDNN's hides a NaN in its maximum, and in clamping exponents.
const Backend* keeper(const GroupOp& /*op*/) {
  return &cpu_backend();
}

constexpr SinglePrimitive single{"softmax", takes, make, false, keeper};

} // namespace

extern const KernelFamily softmax_family{
    "softmax", swept_versions,
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(single, n, g, t); },
    [](const Preparation& p) { return single_prepare(single, p); }};

} // namespace lanner::onednn
