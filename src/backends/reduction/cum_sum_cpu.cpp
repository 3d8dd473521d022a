// cum_sum of f32, i32 and i64, along an axis that is known.

#include <algorithm>

#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "base/check.h"
#include "device/parallel.h"
#include "ops/definition/axis.h"
#include "ops/definition/known.h"
#include "ops/table/arguments.h"

namespace lanner {

namespace {

/// Columns summed together, which stay in the L1 cache.
constexpr std::int64_t max_columns = 512;

/// Sums along `size` rows of `inner`, for columns `first` up to `last`. Additions follow the definition's
/// order; integers wrap around.
struct RunningSums {
  std::int64_t size, inner, first, last;
  bool reverse, exclusive;

  template<typename T>
  void run(const T* from, T* to) const {
    const std::int64_t step = reverse ? -inner : inner;
    const std::int64_t start = (reverse ? (size - 1) * inner : 0) + first, count = last - first;
    if (count == 1)
      along(from + start, to + start, step);
    else
      across(from + start, to + start, step, count);
  }

private:
  template<typename T>
  void along(const T* from, T* to, std::int64_t step) const {
    T total = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const T next = static_cast<T>(total + from[i * step]);
      to[i * step] = exclusive ? total : next;
      total = next;
    }
  }
  /// Each row is the previous one plus an input row: its own, or the previous one if exclusive.
  template<typename T>
  void across(const T* from, T* to, std::int64_t step, std::int64_t count) const {
    for (std::int64_t k = 0; k < count; ++k) to[k] = exclusive ? T{0} : static_cast<T>(T{0} + from[k]);
    for (std::int64_t i = 1; i < size; ++i) {
      const T* const added = from + (exclusive ? i - 1 : i) * step;
      const T* const before = to + (i - 1) * step;
      T* const sums = to + i * step;
#pragma omp simd
      for (std::int64_t k = 0; k < count; ++k) sums[k] = static_cast<T>(before[k] + added[k]);
    }
  }
};

class CumSumKernel final : public Kernel {
public:
  CumSumKernel(const GroupOp& op, const ops::AxisView& view, int threads)
      : view_(view), type_(op.input(0).dtype()), reverse_(op.attributes().flag("reverse")),
        exclusive_(op.attributes().flag("exclusive")), threads_(threads),
        tiles_((view.inner - 1) / max_columns + 1),
        grain_(
            std::max<std::int64_t>(1, numbers_of_a_share / (view.size * std::min(view.inner, max_columns)))) {
  }

  void launch(const Launch& launch) const override {
    if (type_ == DType::f32)
      run<float>(launch);
    else if (type_ == DType::i32)
      run<std::uint32_t>(launch);
    else
      run<std::uint64_t>(launch);
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t numbers_of_a_share = 16384;

  template<typename T>
  void run(const Launch& launch) const {
    const T* const from = static_cast<const T*>(launch.inputs[0]);
    T* const to = static_cast<T*>(launch.outputs[0]);
    parallel_for(threads_, 0, view_.outer * tiles_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t slice = i / tiles_ * view_.size * view_.inner, first = i % tiles_ * max_columns;
        RunningSums{view_.size, view_.inner, first, std::min(view_.inner, first + max_columns),
                    reverse_,   exclusive_}
            .run(from + slice, to + slice);
      }
    });
  }

  ops::AxisView view_;
  DType type_;
  bool reverse_, exclusive_;
  int threads_;
  std::int64_t tiles_, grain_;
};

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "cum_sum") return false;
  const GroupOp& op = group.ops().front();
  const DType type = op.input(0).dtype();
  if ((type == DType::f32 || type == DType::i32 || type == DType::i64) && op.input(0).is_input() &&
      op.input(1).constant && op.input(0).shape().rank() > 0 && op.input(0).shape().elements() > 0)
    return true;
  reason = "supports f32, i32 and i64 along a constant axis";
  return false;
}

TacticList cum_sum_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  Tactic tactic = row_major_tactic("cum_sum", node);
  tactic.accumulates = group.ops().front().input(0).dtype();
  // Each addition waits for the previous one.
  constexpr double of_sum = 32;
  const auto sums = static_cast<double>(group.ops().front().input(0).shape().elements());
  tactic.estimate = seconds_of(
      {.operations = of_sum * sums, .bytes = 2 * plain_bytes(*node.output()), .threads = target.threads},
      target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> cum_sum_prepare(const Preparation& p) {
  std::string reason;
  check_taken(takes(p.group, reason), p, reason);
  const GroupOp& op = p.group.ops().front();
  const Shape x = op.input(0).shape();
  const std::int64_t axis = ops::read_integer(*op.input(1).constant, "axis");
  return std::make_unique<CumSumKernel>(op, ops::view_axis(x, ops::resolve_axis(axis, x.rank())),
                                        p.target.threads);
}

} // namespace

extern const KernelFamily cum_sum_family{"cum_sum", KernelTrust::own(), cum_sum_tactics, cum_sum_prepare};

} // namespace lanner
