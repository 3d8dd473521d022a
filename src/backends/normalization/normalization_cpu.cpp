// Layer, RMS, group and instance normalisation over rows of memory.

#include <algorithm>
#include <optional>

#include "backends/cpu/bf16.h"
#include "backends/cpu/stored_types.h"
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

/// The type that a tactic stores the rows in. Scales and biases are f32.
DType rows_type(const Normalization& made, const Tactic& tactic) {
  return stored_type(tactic.inputs.at(made.x.index), DType::f32);
}

/// The longest row of bf16, whose floats are on the stack.
constexpr std::int64_t longest_narrow = 16 << 10;

class NormalizationKernel final : public Kernel {
public:
  NormalizationKernel(const Normalization& made, DType rows, int threads)
      : made_(made), run_(row_normalizer()), narrow_(rows == DType::bf16), threads_(threads),
        grain_(std::max<std::int64_t>(1, numbers_of_a_share / made.length)) {}

  void launch(const Launch& launch) const override {
    parallel_for(threads_, 0, made_.rows, grain_, [&](std::int64_t begin, std::int64_t end) {
      narrow_ ? run_narrow(launch, begin, end) : run_floats(launch, begin, end);
    });
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t numbers_of_a_share = 16384;

  template<typename T>
  T* result(int output, const Launch& launch) const {
    return output < 0 ? nullptr : static_cast<T*>(launch.outputs[static_cast<std::size_t>(output)]);
  }

  /// The row of a value; null where there is none.
  template<typename T>
  T* at(T* first, std::int64_t row) const {
    return first ? first + row * made_.length : nullptr;
  }

  NormalizedRow row_of(const Launch& launch, std::int64_t row) const {
    const std::int64_t k = row % made_.repeat * (made_.length / made_.shared);
    NormalizedRow one{};
    one.scale = floats(made_.scale, launch) + k;
    if (const float* bias = floats(made_.bias, launch)) one.bias = bias + k;
    one.length = made_.length;
    one.shared = made_.shared;
    one.epsilon = made_.epsilon;
    one.centred = made_.centred;
    return one;
  }

  void run_floats(const Launch& launch, std::int64_t begin, std::int64_t end) const {
    const float *x = floats(made_.x, launch), *added = floats(made_.added, launch);
    auto *const y = result<float>(made_.normalized, launch), *const sum = result<float>(made_.sum, launch);
    for (std::int64_t row = begin; row < end; ++row) {
      NormalizedRow one = row_of(launch, row);
      one.x = at(x, row);
      one.added = at(added, row);
      one.sum = at(sum, row);
      one.y = at(y, row);
      run_(one);
    }
  }

  static const Bf16* halves(const Operand& operand, const Launch& launch) {
    return operand ? static_cast<const Bf16*>(launch.inputs[operand.index]) : nullptr;
  }

  void run_narrow(const Launch& launch, std::int64_t begin, std::int64_t end) const {
    alignas(64) float x[longest_narrow], added[longest_narrow];
    const Bf16Functions& bf16 = bf16_functions();
    const Bf16 *from = halves(made_.x, launch), *second = halves(made_.added, launch);
    auto *const y = result<Bf16>(made_.normalized, launch), *const sum = result<Bf16>(made_.sum, launch);
    for (std::int64_t row = begin; row < end; ++row) {
      NormalizedRow one = row_of(launch, row);
      bf16.read(at(from, row), x, made_.length);
      if (second) bf16.read(at(second, row), added, made_.length);
      one.x = x;
      one.added = second ? added : nullptr;
      one.sum = sum ? added : nullptr;
      one.y = x;
      run_(one);
      bf16.write(x, at(y, row), made_.length);
      if (sum) bf16.write(added, at(sum, row), made_.length);
    }
  }

  Normalization made_;
  RowNormalizer run_;
  bool narrow_;
  int threads_;
  std::int64_t grain_;
};

bool fits_type(const Normalization& made, std::optional<DType> kept) {
  return !kept || (made.length <= longest_narrow && !made.x.constant && !made.added.constant);
}

TacticList normalization_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto made = read_f32(group, list.reason);
  if (!made) return list;
  for (const std::optional<DType> kept : stored_types(DType::f32, target)) {
    if (!fits_type(*made, kept)) continue;
    Tactic tactic;
    tactic.kernel = "normalization";
    tactic.accumulates = DType::f32;
    tactic.inputs.resize(node.inputs().size());
    tactic.outputs.assign(node.outputs().size(), stored_as({}, kept));
    tactic.inputs[made->x.index].dtype = kept;
    if (made->added) tactic.inputs[made->added.index].dtype = kept;
    if (!made->x.constant && made->normalized == 0) tactic.in_place = static_cast<int>(made->x.index);
    tactic.estimate =
        seconds_of({.bytes = (kept ? 2 : 4) * passes_of(*made), .threads = target.threads}, target);
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> normalization_prepare(const Preparation& p) {
  std::string reason;
  const auto made = read_f32(p.group, reason);
  check_taken(made.has_value(), p, reason);
  const DType rows = rows_type(*made, p.tactic);
  check_taken(fits_type(*made, rows == DType::f32 ? std::nullopt : std::optional(rows)), p, reason);
  return std::make_unique<NormalizationKernel>(*made, rows, p.target.threads);
}

} // namespace

extern const KernelFamily normalization_family{.kernel = "normalization",
                                               .trust = KernelTrust::own(),
                                               .tactics = normalization_tactics,
                                               .prepare = normalization_prepare,
                                               .propose = propose_sum_and_normalization};

} // namespace lanner
