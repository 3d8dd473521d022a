// softmax, log_softmax, reduce_* and global pools.

#include <algorithm>

#include "backends/cuda/embedded_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/reduction/column_source.h"
#include "backends/reduction/held_row_kernel.h"
#include "backends/reduction/reduction.h"
#include "backends/reduction/row_parameters.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "device/cuda/nvrtc.h"
#include "ops/table/arguments.h"

namespace lanner::cuda {
namespace {

/// The axes that make up a row.
struct Rows {
  std::string function;
  std::vector<std::size_t> axes;
};

/// Operators whose rows are written in full; rows of others become one element each.
bool is_softmax(const Rows& rows) {
  return rows.function == "softmax" || rows.function == "log_softmax";
}

std::optional<Rows> rows_of(const GroupOp& op) {
  const std::string& kind = op.kind();
  const std::size_t rank = op.input(0) ? op.input(0).shape().rank() : 0;
  if (rank == 0) return std::nullopt;
  if (kind == "softmax" || kind == "log_softmax")
    return Rows{kind, {ops::resolve_axis(op.attributes().integer("axis", -1), rank)}};
  const std::string_view reduction = kind == "global_average_pool" ? "reduce_mean"
                                     : kind == "global_max_pool"   ? "reduce_max"
                                                                   : std::string_view(kind);
  static constexpr std::string_view reductions[] = {
      "reduce_mean", "reduce_sum", "reduce_l1", "reduce_l2", "reduce_sum_square", "reduce_max", "reduce_min"};
  if (std::find(std::begin(reductions), std::end(reductions), reduction) == std::end(reductions))
    return std::nullopt;
  if (auto axes = reduced_axes(op)) return Rows{std::string(reduction), std::move(*axes)};
  return std::nullopt;
}

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1) return false;
  const GroupOp& op = group.ops().front();
  const auto rows = rows_of(op);
  if (!rows) return false;
  if (op.input(0).dtype() != op.type().dtype()) return false;
  if (is_real(op.type().dtype()) && op.input(0).shape().rank() <= max_row_axes &&
      op.type().shape().elements() > 0 && op.input(0).shape().elements() > 0)
    return true;
  reason = "supports floating-point numbers of rank up to 6 only";
  return false;
}

using RowKernel = EmbeddedKernel<1, RowParameters>;
using DenseRowKernel = EmbeddedKernel<1, DenseRowParameters>;
using DenseColumnKernel = EmbeddedKernel<1, DenseColumnParameters>;

/// Interleaved rows by kernels compiled for them: partial results of all rows, then their combination.
class CompiledColumns final : public Kernel {
public:
  CompiledColumns(const Gpu& gpu, const Columns& columns, std::size_t input)
      : workspace_(column_workspace(columns)), input_(input) {
    const std::string source = column_source(columns);
    const auto threads = static_cast<unsigned>(columns.share.threads);
    first_ = compiled_function(gpu, source, "columns");
    first_grid_ = {static_cast<unsigned>(column_blocks(columns)), threads, 0};
    if (workspace_ == 0) return;
    second_ = compiled_function(gpu, source, "join_parts");
    second_grid_ = {static_cast<unsigned>(join_blocks(columns)), threads, 0};
  }
  bool on_stream() const override { return true; }
  std::size_t workspace() const override { return workspace_; }
  void launch(const Launch& launch) const override {
    void* const result = launch.outputs[0];
    cuda::launch(first_, first_grid_, launch.stream, launch.inputs[input_],
                 workspace_ > 0 ? launch.workspace : result);
    if (workspace_ > 0)
      cuda::launch(second_, second_grid_, launch.stream, static_cast<const void*>(launch.workspace), result);
  }

private:
  std::size_t workspace_, input_;
  FunctionHandle first_{}, second_{};
  Grid first_grid_, second_grid_;
};

TacticList row_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const Shape x = op.input(0).shape(), y = op.type().shape();
  const std::vector<Layout> layouts = y.rank() == x.rank() ? image_layouts(x) : std::vector{Layout{}};
  offer(list, op.type().dtype(), target, layouts, [&](std::optional<DType> kept, const Layout& layout) {
    Tactic tactic;
    tactic.kernel = "rows";
    tactic.inputs.resize(node.inputs().size());
    tactic.inputs[op.input(0).index] = on_device(target, layout, kept);
    tactic.outputs.assign(node.outputs().size(), on_device(target, Layout{}));
    tactic.outputs[0] = on_device(target, canonical(layout, y), kept);
    tactic.estimate = seconds_of({.bytes = 12.0 * static_cast<double>(x.elements())}, target);
    tactic.accumulates = accumulated_in(op.kind());
    return tactic;
  });
  return list;
}

/// Of a late tactic, whose kernel must be ready in microseconds for any size: nothing is compiled for it.
constexpr std::byte any_size{1};

TacticList late_row_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list = row_tactics(node, group, target);
  for (Tactic& tactic : list.tactics) tactic.config = {any_size};
  return list;
}

/// A kernel compiled for these rows; null where there is none.
std::unique_ptr<Kernel> compiled_rows(const Gpu& gpu, const Rows& rows, const RowParameters& parameters,
                                      DType type, std::size_t input) {
  const auto bytes = static_cast<std::int64_t>(bit_width(type) / 8);
  if (is_softmax(rows)) {
    const auto dense = dense_rows(parameters, bytes, true);
    const auto share = dense ? row_share(*dense, type) : std::nullopt;
    if (!share) return nullptr;
    const RowKind kind = rows.function == "softmax" ? RowKind::softmax : RowKind::log_softmax;
    return held_row_kernel(gpu, {kind, type, *dense, {}, *share}, {input}, 1);
  }
  const auto columns = dense_rows(parameters, bytes, false) ? std::nullopt : dense_columns(parameters, bytes);
  const auto share = columns ? column_share(*columns, type, gpu.multiprocessors()) : std::nullopt;
  if (!share) return nullptr;
  return std::make_unique<CompiledColumns>(gpu, Columns{rows.function, type, *columns, *share}, input);
}

std::unique_ptr<Kernel> row_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  const GroupOp& op = p.group.ops().front();
  const auto rows = rows_of(op);
  lanner::check(rows.has_value(), ErrorCode::unsupported, "cuda: rows: {}: build the plan again", op.kind());
  const Storage &from = p.tactic.inputs.at(op.input(0).index), &to = p.tactic.outputs.at(0);
  const RowParameters parameters = row_parameters(
      {rows->axes, is_softmax(*rows)}, {op.input(0).shape(), from.layout}, {op.type().shape(), to.layout});
  const DType type = to.dtype.value_or(op.type().dtype());
  if (p.tactic.config.empty() && nvrtc_status().found)
    if (auto kernel = compiled_rows(gpu, *rows, parameters, type, op.input(0).index)) return kernel;
  const std::string function = fmt::format("{}_{}", rows->function, suffix(type));
  const auto bytes = static_cast<std::int64_t>(bit_width(type) / 8);
  if (const auto dense = dense_rows(parameters, bytes, is_softmax(*rows))) {
    const std::string name =
        fmt::format("{}{}", is_softmax(*rows) ? held_prefix(*dense) : "dense_", function);
    return std::make_unique<DenseRowKernel>(embedded_function(gpu, "dense_rows", name.c_str()),
                                            dense_grid(gpu, *dense), *dense);
  }
  if (const auto columns = is_softmax(*rows) ? std::nullopt : dense_columns(parameters, bytes))
    return std::make_unique<DenseColumnKernel>(
        embedded_function(gpu, "dense_rows", ("columns_" + function).c_str()), dense_grid(gpu, *columns),
        *columns);
  return std::make_unique<RowKernel>(embedded_function(gpu, "rows", function.c_str()),
                                     row_grid(gpu, parameters), parameters);
}

} // namespace

extern const KernelFamily row_family{.kernel = "rows",
                                     .trust = KernelTrust::own(),
                                     .tactics = row_tactics,
                                     .prepare = row_prepare,
                                     .late = late_row_tactics};

} // namespace lanner::cuda
