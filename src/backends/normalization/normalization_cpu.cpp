// Layer, RMS, group and instance normalisation over rows of memory.

#include <algorithm>
#include <optional>

#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/normalization/normalization.h"
#include "backends/normalization/normalized_row.h"
#include "base/check.h"
#include "device/parallel.h"
#include "graph/op.h"

namespace lanner {

namespace {

/// For f32, as these kernels need it.
std::optional<Normalization> read_f32(const Group& group, std::string& reason) {
  auto made = read_normalization(group, reason);
  if (!made || group.ops().back().type().dtype() == DType::f32) return made;
  reason = group.ops().back().kind() + ": supports f32 only";
  return std::nullopt;
}

const float* floats(const Operand& operand, const Launch& launch) {
  if (!operand) return nullptr;
  return static_cast<const float*>(operand.is_input() ? launch.inputs[operand.index]
                                                      : operand.constant->data());
}

class NormalizationKernel final : public Kernel {
public:
  NormalizationKernel(const Normalization& made, int threads)
      : made_(made), run_(row_normalizer()), threads_(threads),
        grain_(std::max<std::int64_t>(1, numbers_of_a_share / made.length)) {}

  void launch(const Launch& launch) const override {
    const float *x = floats(made_.x, launch), *added = floats(made_.added, launch),
                *scale = floats(made_.scale, launch), *bias = floats(made_.bias, launch);
    auto* const y = static_cast<float*>(launch.outputs[static_cast<std::size_t>(made_.normalized)]);
    auto* const sum =
        made_.sum < 0 ? nullptr : static_cast<float*>(launch.outputs[static_cast<std::size_t>(made_.sum)]);
    const auto at = [this](auto* first, std::int64_t row) {
      return first ? first + row * made_.length : nullptr;
    };
    parallel_for(threads_, 0, made_.rows, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t k = row % made_.repeat * (made_.length / made_.shared);
        run_({at(x, row), at(added, row), at(sum, row), at(y, row), scale + k, bias ? bias + k : nullptr,
              made_.length, made_.shared, made_.epsilon, made_.centred});
      }
    });
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t numbers_of_a_share = 16384;

  Normalization made_;
  RowNormalizer run_;
  int threads_;
  std::int64_t grain_;
};

TacticList normalization_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto made = read_f32(group, list.reason);
  if (!made) return list;
  Tactic tactic;
  tactic.kernel = "normalization";
  tactic.accumulates = DType::f32;
  tactic.inputs.resize(node.inputs().size());
  tactic.outputs.resize(node.outputs().size());
  if (!made->x.constant && made->normalized == 0) tactic.in_place = static_cast<int>(made->x.index);
  tactic.estimate = seconds_of({.bytes = 4 * passes_of(*made), .threads = target.threads}, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> normalization_prepare(const Preparation& p) {
  std::string reason;
  const auto made = read_f32(p.group, reason);
  check_taken(made.has_value(), p, reason);
  return std::make_unique<NormalizationKernel>(*made, p.target.threads);
}

} // namespace

extern const KernelFamily normalization_family{.kernel = "normalization",
                                               .trust = KernelTrust::own(),
                                               .tactics = normalization_tactics,
                                               .prepare = normalization_prepare,
                                               .propose = propose_sum_and_normalization};

} // namespace lanner
