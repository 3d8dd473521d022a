// arg_max and arg_min of f32, along any axis.

#include <algorithm>

#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/reduction/arg_reduce.h"
#include "device/parallel.h"
#include "ops/definition/axis.h"
#include "ops/table/arguments.h"

namespace lanner {

namespace {

ops::AxisView view_of(const GroupOp& op) {
  const Shape shape = op.input(0).shape();
  return ops::view_axis(shape, ops::resolve_axis(op.attributes().integer("axis", 0), shape.rank()));
}

class ArgKernel final : public Kernel {
public:
  ArgKernel(const GroupOp& op, int threads)
      : view_(view_of(op)), columns_(arg_functions().columns),
        run_(arg_functions().run[op.kind() == "arg_min"][op.attributes().flag("select_last_index")]),
        threads_(threads), tiles_((view_.inner - 1) / columns_ + 1),
        grain_(
            std::max<std::int64_t>(1, numbers_of_a_share / (view_.size * std::min(view_.inner, columns_)))) {}

  void launch(const Launch& launch) const override {
    const auto* from = static_cast<const float*>(launch.inputs[0]);
    auto* to = static_cast<std::int64_t*>(launch.outputs[0]);
    parallel_for(threads_, 0, view_.outer * tiles_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t slice = i / tiles_, stop = std::min(end, (slice + 1) * tiles_);
        run_({from + slice * view_.size * view_.inner, to + slice * view_.inner, view_.size, view_.inner,
              (i - slice * tiles_) * columns_, std::min(view_.inner, (stop - slice * tiles_) * columns_)});
        i = stop;
      }
    });
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t numbers_of_a_share = 16384;

  ops::AxisView view_;
  std::int64_t columns_;
  void (*run_)(const ArgColumns& columns);
  int threads_;
  std::int64_t tiles_, grain_;
};

/// Indices are counted in 32 bits.
constexpr std::int64_t longest = 1 << 30;

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1) return false;
  const GroupOp& op = group.ops().front();
  if (op.kind() != "arg_max" && op.kind() != "arg_min") return false;
  if (op.input(0).dtype() == DType::f32 && op.input(0).shape().elements() > 0 &&
      op.input(0).shape().rank() > 0 && view_of(op).size <= longest)
    return true;
  reason = "supports f32 and axes of at most 2^30 elements";
  return false;
}

TacticList arg_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  Tactic tactic = row_major_tactic("arg", node);
  tactic.estimate = seconds_of({.bytes = plain_bytes(*node.input(0)), .threads = target.threads}, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> arg_prepare(const Preparation& p) {
  return std::make_unique<ArgKernel>(p.group.ops().front(), p.target.threads);
}

} // namespace

extern const KernelFamily arg_family{"arg", KernelTrust::own(), arg_tactics, arg_prepare};

} // namespace lanner
