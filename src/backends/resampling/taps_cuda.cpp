// resize, and pad where it repeats elements.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cuda/embedded_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/resampling/resampling.h"
#include "backends/resampling/taps_kernel.h"
#include "graph/op.h"

namespace lanner::cuda {
namespace {

using Taps = std::vector<ops::ResampledAxis>;

/// The taps of a group that is one such node.
std::optional<Taps> read(const Group& group, std::string& reason) {
  if (group.ops().size() != 1) return std::nullopt;
  const GroupOp& op = group.ops().front();
  if (op.kind() != "resize" &&
      (op.kind() != "pad" || op.attributes().string("mode", "constant") == "constant"))
    return std::nullopt;
  const Shape x = op.input(0).shape(), y = op.type().shape();
  const bool fits = is_real(op.input(0).dtype()) && x.rank() > 0 && x.rank() <= max_taps_axes &&
                    x.elements() > 0 && y.elements() > 0 && y.elements() < INT32_MAX;
  auto taps = fits ? taps_of(op) : std::nullopt;
  if (taps && taps->size() <= max_resampled) return taps;
  reason =
      op.kind() + ": supports floating-point data of rank 1 to 5, up to three axes and constant parameters";
  return std::nullopt;
}

/// The axes of a result in memory order.
std::vector<std::size_t> axes_by_memory(const std::vector<std::int64_t>& strides, const Shape& y) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < y.rank(); ++axis) axes.push_back(axis);
  std::ranges::stable_sort(axes, [&](std::size_t a, std::size_t b) {
    return std::pair(strides[a], y[a]) > std::pair(strides[b], y[b]);
  });
  return axes;
}

/// Tables in GPU memory, freed with this object.
class Tables {
public:
  Tables(const Taps& taps, Device device) {
    for (const ops::ResampledAxis& axis : taps) {
      Own own;
      own.begins = on(device, axis.begins);
      own.indices = on(device, axis.indices);
      own.weights = on(device, axis.weights);
      list_.push_back(std::move(own));
    }
  }

  TapsTable table(std::size_t i, std::int64_t stride) const {
    return {static_cast<const std::int32_t*>(list_[i].begins.data()),
            static_cast<const std::int32_t*>(list_[i].indices.data()),
            static_cast<const float*>(list_[i].weights.data()), stride};
  }

private:
  struct Own {
    Tensor begins, indices, weights;
  };
  template<typename T>
  static Tensor on(Device device, const CountedVector<T>& numbers) {
    return Tensor::from<T>(numbers, {static_cast<std::int64_t>(numbers.size())}).to(device);
  }
  std::vector<Own> list_;
};

TapsParameters parameters_of(const GroupOp& op, const Taps& taps, const Tables& tables, const Layout& from,
                             const Layout& to) {
  const Shape x = op.input(0).shape(), y = op.type().shape();
  const std::vector<std::int64_t> source = from.strides(x), target = to.strides(y);
  TapsParameters p;
  p.elements = static_cast<std::uint32_t>(y.elements());
  for (const std::size_t axis : axes_by_memory(target, y)) {
    const auto resampled = std::ranges::find(taps, axis, &ops::ResampledAxis::axis);
    const int table = resampled == taps.end() ? -1 : static_cast<int>(resampled - taps.begin());
    p.list[p.axes++] = {source[axis], target[axis], static_cast<std::uint32_t>(y[axis]), table};
  }
  for (std::size_t i = 0; i < taps.size(); ++i) p.tables[i] = tables.table(i, source[taps[i].axis]);
  return p;
}

/// Together with the tables that its parameters point to.
class TapsKernel final : public EmbeddedKernel<1, TapsParameters> {
public:
  TapsKernel(FunctionHandle function, Grid grid, const TapsParameters& parameters, Tables tables)
      : EmbeddedKernel(function, grid, parameters), tables_(std::move(tables)) {}

private:
  Tables tables_;
};

TacticList taps_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto taps = read(group, list.reason);
  if (!taps) return list;
  const GroupOp& op = group.ops().front();
  const Shape x = op.input(0).shape(), y = op.type().shape();
  double reads = 1;
  for (const ops::ResampledAxis& axis : *taps)
    reads *= static_cast<double>(axis.indices.size()) / static_cast<double>(axis.begins.size() - 1);
  offer(list, op.type().dtype(), target, image_layouts(x),
        [&](std::optional<DType> kept, const Layout& layout) {
          Tactic tactic;
          tactic.kernel = "taps";
          tactic.inputs.resize(node.inputs().size());
          tactic.inputs[op.input(0).index] = on_device(target, layout, kept);
          tactic.outputs = {on_device(target, canonical(layout, y), kept)};
          const double element = static_cast<double>(bit_width(kept.value_or(op.type().dtype()))) / 8;
          // Elements read by several results come from a cache.
          tactic.estimate = seconds_of(
              {.bytes = element * (1 + std::min(reads, 4.0)) * static_cast<double>(y.elements())}, target);
          tactic.accumulates = DType::f32;
          return tactic;
        });
  return list;
}

std::unique_ptr<Kernel> taps_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  const GroupOp& op = p.group.ops().front();
  std::string reason;
  const auto taps = read(p.group, reason);
  check_taken(taps.has_value(), p, reason);
  const Storage &from = p.tactic.inputs.at(op.input(0).index), &to = p.tactic.outputs.at(0);
  const std::string function = fmt::format("taps_{}", suffix(to.dtype.value_or(op.type().dtype())));
  Tables tables(*taps, p.target.device);
  const TapsParameters parameters = parameters_of(op, *taps, tables, from.layout, to.layout);
  return std::make_unique<TapsKernel>(embedded_function(gpu, "taps", function.c_str()),
                                      grid_for(gpu, op.type().shape().elements()), parameters,
                                      std::move(tables));
}

} // namespace

extern const KernelFamily taps_family{"taps", KernelTrust::own(), taps_tactics, taps_prepare};

} // namespace lanner::cuda
