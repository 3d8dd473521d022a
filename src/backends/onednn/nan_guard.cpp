#include "backends/onednn/nan_guard.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "backends/cpu/bf16.h"
#include "backends/elementwise/instruction.h"
#include "backends/elementwise/tiles.h"
#include "backends/storage_layout.h"
#include "device/parallel.h"

namespace lanner::onednn {

namespace {

class GuardedKernel final : public Kernel {
public:
  GuardedKernel(std::unique_ptr<Kernel> fast, std::function<std::unique_ptr<Kernel>()> make)
      : fast_(std::move(fast)), make_(std::move(make)) {}

  std::size_t workspace() const override { return fast_->workspace(); }

  void launch(const Launch& launch) const override {
    {
      const InvalidWatch watch;
      fast_->launch(launch);
      if (!watch.seen()) return;
    }
    const Kernel& exact = made();
    // Its own workspace, as the context reserves as much as the larger of the two needs.
    const auto bytes = static_cast<std::int64_t>(exact.workspace());
    const Tensor workspace = Tensor::allocate(DType::u8, {bytes});
    Launch again = launch;
    again.workspace = const_cast<void*>(workspace.data());
    exact.launch(again);
  }

private:
  const Kernel& made() const {
    const std::lock_guard lock(mutex_);
    if (!exact_) exact_ = make_();
    return *exact_;
  }

  std::unique_ptr<Kernel> fast_;
  std::function<std::unique_ptr<Kernel>()> make_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Kernel> exact_;
};

/// A step, without pointers into a graph.
struct Step {
  const Formula* formula;
  Numbers numbers;
  Operand operand; ///< Of a binary step: the input, where it is one.
  Tensor constant; ///< ... and otherwise the constant.
  std::optional<OperandWalk> walk;
  bool bf16 = false;                ///< Whether the operand is stored so.
  std::int64_t padded_channels = 0; ///< For a per-channel operand, which itself has no padding.
  std::int64_t channels = 0;
};

Step step_of(const EpilogueStep& step, const Shape& result, const Layout& layout, std::size_t channel_axis,
             DType type) {
  if (!step.binary)
    return {step.activation.formula, {step.activation.alpha, step.activation.beta}, {}, {}, {}};
  Step made{&formula_of(*step.binary), {}, step.operand, {}, {}};
  if (step.operand.from == Operand::From::constant) made.constant = *step.operand.constant;
  Shape shape = result; // A full operand is stored as the result, or a part of it, whatever its own rank.
  if (step.spread != Spread::full) shape = Shape(std::vector<std::int64_t>(result.rank(), 1));
  if (step.spread == Spread::channel) {
    shape[channel_axis] = made.channels = result[channel_axis];
    made.padded_channels = layout.padded(result)[channel_axis];
  }
  made.walk.emplace(result, layout, shape);
  made.bf16 = step.spread == Spread::full && type == DType::bf16;
  made.operand.value = nullptr;
  made.operand.constant = nullptr;
  return made;
}

class StepsKernel final : public Kernel {
public:
  StepsKernel(const Deferred& anchor, std::vector<Step> steps, Shape result, Layout layout, DType type)
      : anchor_(anchor.descriptor, anchor.arguments, anchor.threads), steps_(std::move(steps)),
        result_(std::move(result)), layout_(std::move(layout)), type_(type), threads_(anchor.threads),
        total_(layout_.padded(result_).elements()) {}

  std::size_t workspace() const override { return anchor_.workspace(); }

  void launch(const Launch& launch) const override {
    anchor_.launch(launch);
    void* const y = launch.outputs[0];
    std::vector<std::vector<float>> channels(steps_.size());
    std::vector<const void*> operands(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) operands[i] = operand_of(steps_[i], launch, channels[i]);
    parallel_for(threads_, 0, (total_ + tile_size - 1) / tile_size, tiles_of_a_share,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t tile = begin; tile < end; ++tile)
                     run(y, operands, tile * tile_size, std::min(tile_size, total_ - tile * tile_size));
                 });
    clear_padding(y, layout_, result_, bit_width(type_) / 8);
  }

private:
  static constexpr std::int64_t tile_size = 512, tiles_of_a_share = 32;

  /// `padded` stores a copy of a per-channel operand.
  static const void* operand_of(const Step& step, const Launch& launch, std::vector<float>& padded) {
    if (!step.walk) return nullptr;
    const void* const bytes =
        step.operand.is_input() ? launch.inputs[step.operand.index] : step.constant.data();
    if (step.bf16) return bytes;
    const auto* const values = static_cast<const float*>(bytes);
    if (step.padded_channels == step.channels) return values;
    padded.assign(values, values + step.channels);
    padded.resize(static_cast<std::size_t>(step.padded_channels));
    return padded.data();
  }

  void run(void* y, const std::vector<const void*>& operands, std::int64_t first, std::int64_t count) const {
    if (type_ == DType::f32) return apply(static_cast<float*>(y) + first, operands, first, count);
    alignas(64) float results[tile_size];
    Bf16* const stored = static_cast<Bf16*>(y) + first;
    bf16_functions().read(stored, results, count);
    apply(results, operands, first, count);
    bf16_functions().write(results, stored, count);
  }

  /// Applies the steps to results from `first` on.
  void apply(float* results, const std::vector<const void*>& operands, std::int64_t first,
             std::int64_t count) const {
    alignas(64) float tile[tile_size];
    const TileFunctions functions = tile_functions();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (step.walk && step.bf16)
        step.walk->fetch(static_cast<const Bf16*>(operands[i]), first, count, tile);
      else if (step.walk)
        step.walk->fetch(static_cast<const float*>(operands[i]), first, count, tile);
      functions[*step.formula](results, results, step.walk ? tile : nullptr, nullptr, count, step.numbers);
    }
  }

  Execution anchor_;
  std::vector<Step> steps_;
  Shape result_;
  Layout layout_;
  DType type_;
  int threads_;
  std::int64_t total_;
};

} // namespace

bool hides_nan(const EpilogueStep& step) {
  if (step.binary) return *step.binary == BinaryKind::minimum || *step.binary == BinaryKind::maximum;
  const ActivationCall& a = step.activation;
  if (a.is("leaky_relu")) return a.alpha == 0;
  // The others compare, or clamp the argument of their exponential.
  return !(a.is("linear") || a.is("abs") || a.is("sqrt"));
}

bool hides_nan(const Epilogue& epilogue) {
  return std::ranges::any_of(epilogue, [](const EpilogueStep& step) { return hides_nan(step); });
}

Epilogue before_hiding(const Epilogue& epilogue) {
  const auto first = std::ranges::find_if(epilogue, [](const EpilogueStep& step) { return hides_nan(step); });
  return {epilogue.begin(), first};
}

std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> fast, std::function<std::unique_ptr<Kernel>()> make) {
  return std::make_unique<GuardedKernel>(std::move(fast), std::move(make));
}

std::function<std::unique_ptr<Kernel>()> anchor_and_steps(Deferred anchor, const Epilogue& epilogue,
                                                          const Shape& result, const Layout& layout,
                                                          std::size_t channel_axis, DType type) {
  std::vector<Step> steps;
  for (std::size_t i = before_hiding(epilogue).size(); i < epilogue.size(); ++i)
    steps.push_back(step_of(epilogue[i], result, layout, channel_axis, type));
  return [anchor = std::move(anchor), steps = std::move(steps), result, layout, type] {
    const ThreadCount count(anchor.threads);
    return std::make_unique<StepsKernel>(anchor, steps, result, layout, type);
  };
}

} // namespace lanner::onednn
