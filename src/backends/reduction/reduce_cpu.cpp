// reduce_sum, reduce_mean, reduce_l1, reduce_l2, reduce_sum_square, reduce_max, reduce_min, reduce_log_sum,
// reduce_log_sum_exp and the average and maximum of images, of f32, where the reduced axes are contiguous
// among the kept ones: in row-major order and, for pools, channels last or blocked.

#include <algorithm>

#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/reduction/folds.h"
#include "backends/reduction/reduction.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"
#include "ops/reduction/reduce_plan.h"

namespace lanner {

namespace {

bool is_mean(const std::string& kind) {
  return kind == "reduce_mean" || kind == "global_average_pool";
}

using ColumnFold = void (*)(const Columns& columns);

/// Memory as outer x length x inner numbers, reduced along `length`.
struct Reduction {
  std::int64_t outer = 1, length = 1, inner = 1;
  float divisor = 1;
  ColumnFold fold = nullptr;
};

/// Null for another operation.
ColumnFold fold_of(const std::string& kind) {
  const FoldFunctions& functions = fold_functions();
  if (kind == "reduce_sum" || is_mean(kind)) return functions.sum;
  if (kind == "reduce_l1") return functions.magnitudes;
  if (kind == "reduce_sum_square") return functions.squares;
  if (kind == "reduce_l2") return functions.length;
  if (kind == "reduce_max" || kind == "global_max_pool") return functions.max;
  if (kind == "reduce_log_sum") return functions.log_sum;
  if (kind == "reduce_log_sum_exp") return functions.log_sum_exp;
  return kind == "reduce_min" ? functions.min : nullptr;
}

/// Nothing where kept axes are between reduced ones.
std::optional<Reduction> view_of(const Shape& shape, const Layout& layout, const std::vector<bool>& reduced) {
  Reduction view;
  for (const MemoryAxis& axis : memory_axes(layout, shape)) {
    if (axis.size == 1) continue;
    if (reduced[axis.dim]) {
      if (view.inner > 1) return std::nullopt;
      view.length *= axis.size;
    } else {
      (view.length > 1 ? view.inner : view.outer) *= axis.size;
    }
  }
  return view;
}

std::optional<Reduction> read_reduction(const GroupOp& op, const Layout& layout) {
  const auto axes = reduced_axes(op);
  if (!axes) return std::nullopt;
  const Shape shape = op.input(0).shape();
  auto view = view_of(shape, layout, ops::reduced_flags(*axes, shape.rank()));
  // A reduced dim that the layout blocks would need padding in the result.
  const Layout to = canonical(layout, op.type().shape());
  const Shape padded = to.padded(op.type().shape());
  if (!view || padded.elements() != view->outer * view->inner) return std::nullopt;
  // Padding is zeros, of which these would make other numbers.
  if (op.kind().starts_with("reduce_log_") && padded != op.type().shape()) return std::nullopt;
  view->fold = fold_of(op.kind());
  std::int64_t count = 1;
  for (const std::size_t axis : *axes) count *= shape[axis];
  if (is_mean(op.kind())) view->divisor = static_cast<float>(count);
  return view;
}

class ReduceKernel final : public Kernel {
public:
  ReduceKernel(const Reduction& view, int threads)
      : view_(view), columns_(fold_functions().columns), threads_(threads) {
    tiles_ = (view.inner + columns_ - 1) / columns_;
    const std::int64_t numbers = view.length * std::min(view.inner, columns_);
    grain_ = std::max<std::int64_t>(1, numbers_of_a_share / numbers);
  }

  void launch(const Launch& launch) const override {
    const auto* from = static_cast<const float*>(launch.inputs[0]);
    auto* to = static_cast<float*>(launch.outputs[0]);
    parallel_for(threads_, 0, view_.outer * tiles_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t slice = i / tiles_, stop = std::min(end, (slice + 1) * tiles_);
        view_.fold({from + slice * view_.length * view_.inner, to + slice * view_.inner, view_.length,
                    view_.inner, (i - slice * tiles_) * columns_,
                    std::min(view_.inner, (stop - slice * tiles_) * columns_), view_.divisor});
        i = stop;
      }
    });
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t numbers_of_a_share = 32768;

  Reduction view_;
  std::int64_t columns_;
  int threads_;
  std::int64_t tiles_, grain_;
};

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1) return false;
  const GroupOp& op = group.ops().front();
  if (!fold_of(op.kind())) return false;
  if (op.input(0).dtype() == DType::f32 && op.input(0).shape().elements() > 0 && reduced_axes(op))
    return true;
  reason = "supports f32 and constant axes";
  return false;
}

TacticList reduce_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const Shape input = op.input(0).shape(), output = op.type().shape();
  for (const Layout& layout : offered_layouts(input)) {
    if (!layout.row_major() && output.rank() != input.rank()) continue;
    if (!read_reduction(op, layout)) continue;
    Tactic tactic;
    tactic.kernel = "reduce";
    tactic.inputs.resize(node.inputs().size());
    tactic.inputs[op.input(0).index] = stored(layout);
    tactic.outputs = {stored(canonical(layout, output))};
    tactic.accumulates = DType::f32;
    tactic.estimate =
        seconds_of({.bytes = 4.0 * static_cast<double>(input.elements()), .threads = target.threads}, target);
    list.tactics.push_back(std::move(tactic));
  }
  if (list.tactics.empty()) list.reason = "kept axes between reduced ones are not supported";
  return list;
}

std::unique_ptr<Kernel> reduce_prepare(const Preparation& p) {
  std::string reason;
  check_taken(takes(p.group, reason), p, reason);
  const GroupOp& op = p.group.ops().front();
  const auto view = read_reduction(op, p.tactic.inputs.at(op.input(0).index).layout);
  check(view.has_value(), ErrorCode::unsupported, "cpu: reduce: {} in this layout: build the plan again",
        op.kind());
  return std::make_unique<ReduceKernel>(*view, p.target.threads);
}

} // namespace

extern const KernelFamily reduce_family{"reduce", KernelTrust::own(), reduce_tactics, reduce_prepare};

} // namespace lanner
