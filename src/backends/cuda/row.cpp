// softmax, log_softmax, reduce_*, global pools and layer_normalization.

#include <algorithm>
#include <numeric>

#include "backends/cuda/families.h"
#include "backends/cuda/row_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/reduction.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "ops/arguments.h"
#include "ops/reduce_plan.h"

namespace lanner::cuda {
namespace {

/// What a row is: the axes it runs along, and whether it is written (softmax) or becomes one number.
struct Rows {
  std::string function;
  std::vector<std::size_t> axes;
  bool written = false;
  std::size_t inputs = 1; ///< Tensors that the kernel reads; those behind the first are row-major.
  float epsilon = 0;
};

std::optional<Rows> normalisation(const GroupOp& op, std::size_t rank) {
  const std::size_t first = ops::resolve_axis(op.attributes().integer("axis", -1), rank);
  Rows rows{op.kind(), {}, true, 3, static_cast<float>(op.attributes().real("epsilon", 1e-5))};
  std::int64_t length = 1;
  for (std::size_t axis = first; axis < rank; ++axis) {
    rows.axes.push_back(axis);
    length *= op.type().shape()[axis];
  }
  const auto& outputs = op.node->outputs();
  const bool alone =
      std::all_of(outputs.begin() + 1, outputs.end(), [](const auto& value) { return value->unused(); });
  const auto fits = [&](const Operand& operand) { return !operand || operand.shape().elements() == length; };
  if (!alone || !fits(op.input(1)) || !fits(op.input(2)) || op.attributes().integer("stash_type", 1) != 1)
    return std::nullopt;
  return rows;
}

std::optional<Rows> rows_of(const GroupOp& op) {
  const std::string& kind = op.kind();
  const std::size_t rank = op.input(0) ? op.input(0).shape().rank() : 0;
  if (rank == 0) return std::nullopt;
  if (kind == "softmax" || kind == "log_softmax")
    return Rows{kind, {ops::resolve_axis(op.attributes().integer("axis", -1), rank)}, true, 1, 0};
  if (kind == "layer_normalization") return normalisation(op, rank);
  const std::string_view reduction = kind == "global_average_pool" ? "reduce_mean"
                                     : kind == "global_max_pool"   ? "reduce_max"
                                                                   : std::string_view(kind);
  static constexpr std::string_view reductions[] = {"reduce_mean", "reduce_sum", "reduce_max", "reduce_min"};
  if (std::find(std::begin(reductions), std::end(reductions), reduction) == std::end(reductions))
    return std::nullopt;
  if (auto axes = reduced_axes(op)) return Rows{std::string(reduction), std::move(*axes), false, 1, 0};
  return std::nullopt;
}

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1) return false;
  const GroupOp& op = group.ops().front();
  const auto rows = rows_of(op);
  if (!rows) return false;
  for (std::size_t i = 0; i < std::min(rows->inputs, op.inputs.size()); ++i)
    if (op.input(i) && op.input(i).dtype() != op.type().dtype()) return false;
  if (is_real(op.type().dtype()) && op.input(0).shape().rank() <= max_row_axes &&
      op.type().shape().elements() > 0 && op.input(0).shape().elements() > 0)
    return true;
  reason = "cuda: rows of real numbers of rank up to 6 only";
  return false;
}

/// Strides of the result along the input's axes: where a kept axis of size 1 or a dropped one is, 0.
std::vector<std::int64_t> target_strides(const Rows& rows, const Shape& x, const Shape& y, const Layout& to) {
  const std::vector<std::int64_t> strides = to.strides(y);
  const std::vector<bool> inner = ops::reduced_flags(rows.axes, x.rank());
  std::vector<std::int64_t> result(x.rank(), 0);
  const bool dropped = y.rank() != x.rank();
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (dropped && inner[axis]) continue;
    result[axis] = strides[next++];
  }
  return result;
}

RowParameters parameters_of(const Rows& rows, const Shape& x, const Shape& y, const Layout& from,
                            const Layout& to) {
  RowParameters p;
  p.epsilon = rows.epsilon;
  const std::vector<bool> inner = ops::reduced_flags(rows.axes, x.rank());
  const std::vector<std::int64_t> source = from.strides(x), target = target_strides(rows, x, y, to);
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const bool own = inner[axis];
    int& axes = own ? p.inner : p.kept;
    (own ? p.inner_sizes : p.kept_sizes)[axes] = x[axis];
    (own ? p.inner_source : p.kept_source)[axes] = source[axis];
    (own ? p.inner_target : p.kept_target)[axes] = target[axis];
    (own ? p.length : p.rows) *= x[axis];
    ++axes;
  }
  return p;
}

class RowKernel final : public Kernel {
public:
  RowKernel(FunctionHandle function, Grid grid, const RowParameters& parameters, std::size_t inputs)
      : function_(function), grid_(grid), parameters_(parameters), inputs_(inputs) {}
  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override {
    if (inputs_ == 1)
      return cuda::launch(function_, grid_, launch.stream, launch.inputs[0], launch.outputs[0], parameters_);
    const void* bias = launch.inputs.size() > 2 ? launch.inputs[2] : nullptr;
    cuda::launch(function_, grid_, launch.stream, launch.inputs[0], launch.inputs[1], bias, launch.outputs[0],
                 parameters_);
  }

private:
  FunctionHandle function_;
  Grid grid_;
  RowParameters parameters_;
  std::size_t inputs_;
};

TacticList row_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const Rows rows = *rows_of(op);
  const Shape x = op.input(0).shape(), y = op.type().shape();
  for (const std::optional<DType> kept : kept_types(op.type().dtype(), target))
    for (const Layout& layout : image_layouts(x)) {
      if (!layout.row_major() && y.rank() != x.rank()) continue;
      Tactic tactic;
      tactic.kernel = "rows";
      tactic.inputs.resize(node.inputs().size());
      for (std::size_t i = 0; i < std::min(rows.inputs, op.inputs.size()); ++i)
        if (op.input(i))
          tactic.inputs[op.input(i).index] = on_device(target, i == 0 ? layout : Layout{}, kept);
      tactic.outputs.assign(node.outputs().size(), on_device(target, Layout{}));
      tactic.outputs[0] = on_device(target, canonical(layout, y), kept);
      tactic.estimate = seconds_of({.bytes = 12.0 * static_cast<double>(x.elements())}, target);
      tactic.accumulates = DType::f32;
      list.tactics.push_back(std::move(tactic));
    }
  return list;
}

Grid grid_of(const Gpu& gpu, const RowParameters& p) {
  unsigned threads = 32;
  while (threads < 1024 && threads * 4 <= p.length) threads *= 2;
  const std::int64_t most = static_cast<std::int64_t>(gpu.multiprocessors()) * 32;
  return {static_cast<unsigned>(std::min(p.rows, most)), threads, 0};
}

std::unique_ptr<Kernel> row_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  const GroupOp& op = p.group.ops().front();
  const auto rows = rows_of(op);
  lanner::check(rows.has_value(), ErrorCode::unsupported, "cuda: rows: {}: build the plan again", op.kind());
  const Storage &from = p.tactic.inputs.at(op.input(0).index), &to = p.tactic.outputs.at(0);
  const RowParameters parameters =
      parameters_of(*rows, op.input(0).shape(), op.type().shape(), from.layout, to.layout);
  const std::string function =
      fmt::format("{}_{}", rows->function, suffix(to.dtype.value_or(op.type().dtype())));
  return std::make_unique<RowKernel>(embedded_function(gpu, "rows", function.c_str()),
                                     grid_of(gpu, parameters), parameters, rows->inputs);
}

} // namespace

const KernelFamily row_family{"rows", row_tactics, row_prepare, nullptr};

} // namespace lanner::cuda
