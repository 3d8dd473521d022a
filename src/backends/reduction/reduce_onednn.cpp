// reduce_mean and reduce_sum over constant axes. Not reduce_max and reduce_min: oneDNN's start from the
// largest finite magnitude, which is wrong where every element is infinite, as in a masked row of attention.

#include <map>

#include "backends/onednn/single.h"
#include "backends/reduction/reduction.h"

namespace lanner::onednn {

namespace {

std::optional<dnnl::algorithm> algorithm_of(const std::string& kind) {
  using A = dnnl::algorithm;
  static const std::map<std::string_view, A> known = {{"reduce_mean", A::reduction_mean},
                                                      {"reduce_sum", A::reduction_sum}};
  const auto found = known.find(kind);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

/// The output's shape with the reduced axes kept as 1; nothing when the axes are unknown.
std::optional<Shape> kept_shape(const GroupOp& op) {
  const auto axes = reduced_axes(op);
  if (!axes) return std::nullopt;
  Shape shape = op.input(0).shape();
  for (const std::size_t axis : *axes) shape[axis] = 1;
  return shape;
}

bool takes(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (!algorithm_of(op.kind())) return false;
  const std::size_t rank = op.input(0).shape().rank();
  const auto kept = kept_shape(op);
  if (op.input(0).dtype() == DType::f32 && rank > 0 && rank <= 6 && kept && *kept != op.input(0).shape())
    return true;
  reason = "supports f32 of rank 1 to 6 and constant axes";
  return false;
}

Primitive make(const Group& group, const Layout& from, const Layout& to) {
  const GroupOp& op = group.ops().front();
  const auto kept = kept_shape(op);
  const bool keeps = op.type().rank() == op.input(0).shape().rank();
  if (!keeps && !to.row_major()) return {};
  const auto src = describe(op.input(0).shape(), from, DType::f32),
             dst = describe(*kept, keeps ? to : Layout{}, DType::f32);
  if (!src || !dst) return {};
  return {reduction(*algorithm_of(op.kind()), *src, *dst, attributes()),
          {argument(DNNL_ARG_SRC, *src, op.input(0)), output_argument(DNNL_ARG_DST, *dst)}};
}

constexpr SinglePrimitive single{"reduce", takes, make};

} // namespace

extern const KernelFamily reduce_family{
    "reduce", swept_versions,
    [](const Node& n, const Group& g, const Target& t) { return single_tactics(single, n, g, t); },
    [](const Preparation& p) { return single_prepare(single, p); }};

} // namespace lanner::onednn
