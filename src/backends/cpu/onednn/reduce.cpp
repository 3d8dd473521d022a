// reduce_mean and reduce_sum over constant axes. Not reduce_max and reduce_min: oneDNN's begin with the
// largest finite magnitude, which is wrong where every element is infinite, as in a masked row of attention.

#include <map>

#include "backends/cpu/onednn/single.h"

namespace lanner::onednn {

namespace {

std::optional<dnnl::algorithm> algorithm_of(const std::string& kind) {
  using A = dnnl::algorithm;
  static const std::map<std::string_view, A> known = {{"reduce_mean", A::reduction_mean},
                                                      {"reduce_sum", A::reduction_sum}};
  const auto found = known.find(kind);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

/// The output's shape with the reduced axes kept as 1; nothing when the axes are not known.
std::optional<Shape> kept_shape(const GroupOp& op) {
  Shape shape = op.input(0).shape();
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::vector<std::int64_t> axes;
  if (op.input(1)) {
    const Tensor* given = op.input(1).constant;
    if (!given || given->dtype() != DType::i64) return std::nullopt;
    axes.assign(given->as<std::int64_t>().begin(), given->as<std::int64_t>().end());
  }
  if (axes.empty()) {
    if (op.attributes().flag("noop_with_empty_axes")) return std::nullopt;
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (std::int64_t axis : axes) shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = 1;
  return shape;
}

bool takes(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (!algorithm_of(op.kind())) return false;
  const std::size_t rank = op.input(0).shape().rank();
  const auto kept = kept_shape(op);
  if (op.input(0).dtype() == DType::f32 && rank > 0 && rank <= 6 && kept && *kept != op.input(0).shape())
    return true;
  reason = "onednn: reductions take f32 of rank 1 to 6 and constant axes";
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

const KernelFamily reduce_family{
    "reduce", [](const Node& n, const Group& g, const Target& t) { return single_tactics(single, n, g, t); },
    [](const Preparation& p) { return single_prepare(single, p); }, nullptr};

} // namespace lanner::onednn
