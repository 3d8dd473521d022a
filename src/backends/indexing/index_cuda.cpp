// gather, gather_elements and scatter_elements. The definitions reject an index out of range; here it reads
// 0, and its update is dropped. Shapes that the definitions reject are declined, so that these report them.

#include <algorithm>

#include "backends/cuda/embedded_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/indexing/index_kernel.h"
#include "ops/definition/axis.h"

namespace lanner::cuda {
namespace {

bool picks(const Node& node) {
  return node.kind() == "gather" || node.kind() == "gather_elements";
}

/// Whether indices, and updates of the same shape, exceed the data only along the axis.
bool lies_inside(const Node& node) {
  const Shape data = node.input(0)->type.shape(), indices = node.input(1)->type.shape();
  if (indices.rank() != data.rank()) return false;
  if (!picks(node) && node.input(2)->type.shape() != indices) return false;
  const std::size_t axis = ops::resolve_axis(node.attributes.integer("axis", 0), data.rank());
  for (std::size_t d = 0; d < data.rank(); ++d)
    if (d != axis && indices[d] > data[d]) return false;
  return true;
}

bool takes(const Node& node, std::string& reason) {
  if (!picks(node) && node.kind() != "scatter_elements") return false;
  const Type &data = node.input(0)->type, &indices = node.input(1)->type;
  const bool integers = indices.dtype() == DType::i64 || indices.dtype() == DType::i32;
  const bool replaces = node.attributes.string("reduction", "none") == "none";
  if (!is_real(data.dtype()) || !integers || !replaces || data.rank() == 0 || data.rank() > max_index_axes) {
    reason = node.kind() + ": supports i64 or i32 indices into floating-point data, without a reduction";
    return false;
  }
  if (node.kind() == "gather" || lies_inside(node)) return true;
  reason = node.kind() + ": the indices exceed the data, or the updates differ in shape";
  return false;
}

/// Layouts that keep the result's order, by which indices are counted; floats in any type they may be stored
/// in.
TacticList index_tactics(const Node& node, const Group&, const Target& target) {
  TacticList list;
  if (!takes(node, list.reason)) return list;
  double bytes = 0;
  for (std::size_t i = 1; i < node.inputs().size(); ++i) bytes += plain_bytes(*node.input(i));
  offer(list, node.output()->type.dtype(), target, {Layout{}}, [&](std::optional<DType> kept, const Layout&) {
    Tactic tactic;
    tactic.kernel = "index";
    tactic.inputs.assign(node.inputs().size(), on_device(target, Layout{}, kept));
    tactic.inputs[1] = on_device(target, Layout{});
    tactic.outputs = {on_device(target, Layout{}, kept)};
    const double share = kept ? 0.5 : 1; // of f32's width
    tactic.estimate = seconds_of({.bytes = (bytes + 2 * plain_bytes(*node.output())) * share}, target);
    return tactic;
  });
  return list;
}

using GatherKernel = EmbeddedKernel<2, std::int64_t, GatherParameters>;

using AxisIndexKernel = EmbeddedKernel<2, std::int64_t, AxisIndexParameters>;

class ScatterKernel final : public Kernel {
public:
  ScatterKernel(FunctionHandle function, Grid grid, std::int64_t count, const AxisIndexParameters& parameters,
                std::uint64_t copied)
      : function_(function), grid_(grid), count_(count), parameters_(parameters), copied_(copied) {}
  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override {
    if (copied_ > 0)
      check(driver().copy(reinterpret_cast<DevicePointer>(launch.outputs[0]),
                          reinterpret_cast<DevicePointer>(launch.inputs[0]), copied_,
                          static_cast<StreamHandle>(launch.stream.handle)),
            "cuMemcpyAsync");
    if (count_ > 0)
      cuda::launch(function_, grid_, launch.stream, launch.inputs[2], launch.inputs[1], launch.outputs[0],
                   count_, parameters_);
  }
  /// A driver copy depends on its allocations.
  bool recordable() const override { return copied_ == 0; }

private:
  FunctionHandle function_;
  Grid grid_;
  std::int64_t count_;
  AxisIndexParameters parameters_;
  std::uint64_t copied_; ///< Bytes of the data, which are copied to the output first.
};

AxisIndexParameters axis_index_parameters(const Node& node) {
  const Shape data = node.input(0)->type.shape(), indices = node.input(1)->type.shape();
  AxisIndexParameters p;
  p.rank = static_cast<int>(data.rank());
  const std::size_t axis = ops::resolve_axis(node.attributes.integer("axis", 0), data.rank());
  p.axis = static_cast<int>(axis);
  p.size = data[axis];
  std::ranges::copy(indices.dims(), p.sizes);
  std::ranges::copy(Layout{}.strides(data), p.strides);
  p.wide = node.input(1)->type.dtype() == DType::i64;
  return p;
}

std::unique_ptr<Kernel> prepare_gather(const Node& node, const Gpu& gpu, std::size_t element) {
  const Shape data = node.input(0)->type.shape();
  const std::size_t axis = ops::resolve_axis(node.attributes.integer("axis", 0), data.rank());
  GatherParameters p;
  p.outer = p.inner = 1;
  for (std::size_t d = 0; d < axis; ++d) p.outer *= data[d];
  for (std::size_t d = axis + 1; d < data.rank(); ++d) p.inner *= data[d];
  p.size = data[axis];
  p.indices = node.input(1)->type.shape().elements();
  p.wide = node.input(1)->type.dtype() == DType::i64;
  const std::int64_t count = node.output()->type.shape().elements();
  return std::make_unique<GatherKernel>(
      embedded_function(gpu, "indices", fmt::format("gather_{}", element).c_str()), grid_over(gpu, count),
      count, p);
}

std::unique_ptr<Kernel> index_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  const Node& node = p.node;
  std::string reason;
  check_taken(takes(node, reason), p, reason);
  const std::size_t element =
      bit_width(p.tactic.outputs.at(0).dtype.value_or(node.output()->type.dtype())) / 8;
  if (node.kind() == "gather") return prepare_gather(node, gpu, element);
  const AxisIndexParameters parameters = axis_index_parameters(node);
  const Shape indices = node.input(1)->type.shape();
  if (picks(node)) {
    const std::string function = fmt::format("gather_places_{}", element);
    return std::make_unique<AxisIndexKernel>(embedded_function(gpu, "indices", function.c_str()),
                                             grid_over(gpu, indices.elements()), indices.elements(),
                                             parameters);
  }
  const std::int64_t along = indices[static_cast<std::size_t>(parameters.axis)];
  const std::int64_t lines = along > 0 ? indices.elements() / along : 0;
  const std::string function = fmt::format("scatter_lines_{}", element);
  const auto copied = static_cast<std::uint64_t>(node.output()->type.shape().elements()) * element;
  return std::make_unique<ScatterKernel>(embedded_function(gpu, "indices", function.c_str()),
                                         grid_for(gpu, lines), lines, parameters, copied);
}

} // namespace

extern const KernelFamily index_family{.kernel = "index",
                                       .trust = KernelTrust::own(),
                                       .tactics = index_tactics,
                                       .prepare = index_prepare,
                                       .late = index_tactics};

} // namespace lanner::cuda
