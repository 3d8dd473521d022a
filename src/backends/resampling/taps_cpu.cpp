// resize of f32 in all forms whose results are weighted sums of elements, in row-major order, channels last
// and blocked: axis by axis, with positions and weights that the definition computes once.

#include <algorithm>
#include <limits>

#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/resampling/resampling.h"
#include "backends/resampling/tap_plan.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"

namespace lanner {

namespace {

/// A few microseconds of work justify waking a thread.
constexpr double operations_of_a_share = 200e3;
/// More than one per thread, so that a delayed thread leaves work to others.
constexpr std::int64_t shares_of_a_thread = 4;

class TapsKernel final : public Kernel {
public:
  TapsKernel(TapPlan plan, std::size_t x, int threads)
      : plan_(std::move(plan)), x_(x), threads_(threads), units_((plan_.results() - 1) / plan_.unit() + 1) {
    const auto shares = static_cast<std::int64_t>(
        std::min(plan_.operations() / operations_of_a_share,
                 static_cast<double>(threads > 1 ? threads * shares_of_a_thread : 1)));
    const std::int64_t all = plan_.planes() * units_;
    grain_ = (all - 1) / std::max<std::int64_t>(shares, 1) + 1;
    shares_ = (all - 1) / grain_ + 1;
    // Whole cache lines.
    scratch_ = (plan_.scratch() + 15) / 16 * 16;
  }

  std::size_t workspace() const override {
    return static_cast<std::size_t>(shares_ * scratch_) * sizeof(float);
  }

  void launch(const Launch& launch) const override {
    const auto* x = static_cast<const float*>(launch.inputs[x_]);
    auto* y = static_cast<float*>(launch.outputs[0]);
    auto* const scratch = static_cast<float*>(launch.workspace);
    parallel_for(threads_, 0, plan_.planes() * units_, grain_, [&](std::int64_t begin, std::int64_t end) {
      float* const own = scratch_ > 0 ? scratch + begin / grain_ * scratch_ : nullptr;
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t plane = i / units_, stop = std::min(end, (plane + 1) * units_);
        plan_.run(plane, (i - plane * units_) * plan_.unit(),
                  std::min((stop - plane * units_) * plan_.unit(), plan_.results()), x, y, own);
        i = stop;
      }
    });
  }

private:
  TapPlan plan_;
  std::size_t x_;
  int threads_;
  std::int64_t units_, grain_ = 1, shares_ = 1, scratch_ = 0;
};

/// The taps of a group that is one such node.
std::optional<std::vector<ops::ResampledAxis>> read(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "resize") return std::nullopt;
  const GroupOp& op = group.ops().front();
  constexpr std::int64_t max = std::numeric_limits<std::int32_t>::max();
  const std::int64_t before = op.input(0).shape().elements(), after = op.type().shape().elements();
  const bool fits = op.input(0).dtype() == DType::f32 && op.input(0).shape().rank() <= 5 && before > 0 &&
                    before <= max && after > 0 && after <= max;
  auto taps = fits ? taps_of(op) : std::nullopt;
  if (taps && !taps->empty()) return taps;
  reason = "supports resize of f32 of rank up to 5 with constant parameters, without extrapolation "
           "values";
  return std::nullopt;
}

TacticList taps_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto taps = read(group, list.reason);
  if (!taps) return list;
  const GroupOp& op = group.ops().front();
  const Shape x = op.input(0).shape(), y = op.type().shape();
  for (const Layout& layout : offered_layouts(x)) {
    const auto plan = TapPlan::of(x, y, layout, *taps);
    if (!plan) continue;
    Tactic tactic;
    tactic.kernel = "taps";
    tactic.inputs.resize(node.inputs().size());
    tactic.inputs[op.input(0).index] = stored(layout);
    tactic.outputs = {stored(canonical(layout, y))};
    tactic.accumulates = DType::f32;
    const double numbers = static_cast<double>(layout.padded(x).elements() + layout.padded(y).elements());
    tactic.estimate = seconds_of(
        {.operations = plan->operations(), .bytes = 4 * numbers, .threads = target.threads}, target);
    list.tactics.push_back(std::move(tactic));
  }
  if (list.tactics.empty()) list.reason = "supports up to three adjacent axes";
  return list;
}

std::unique_ptr<Kernel> taps_prepare(const Preparation& p) {
  std::string reason;
  const auto taps = read(p.group, reason);
  const GroupOp& op = p.group.ops().front();
  const std::size_t x = op.input(0).index;
  std::optional<TapPlan> plan;
  if (taps) plan = TapPlan::of(op.input(0).shape(), op.type().shape(), p.tactic.inputs.at(x).layout, *taps);
  check_taken(plan.has_value(), p, reason);
  return std::make_unique<TapsKernel>(std::move(*plan), x, p.target.threads);
}

} // namespace

extern const KernelFamily taps_family{"taps", KernelTrust::own(), taps_tactics, taps_prepare};

} // namespace lanner
