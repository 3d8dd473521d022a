#pragma once
// Runs oneDNN kernels that hide a NaN such that none is hidden: see docs/decisions/036-nan.md.

#include <functional>
#include <memory>

#include "backends/epilogue.h"
#include "backends/onednn/execution.h"

namespace lanner::onednn {

/// Whether oneDNN's implementation of this step may return a number for a NaN.
bool hides_nan(const EpilogueStep& step);
bool hides_nan(const Epilogue& epilogue);
/// The steps before the first one that hides a NaN.
Epilogue before_hiding(const Epilogue& epilogue);

/// Runs `fast`, and then `make`'s kernel if `fast` raised the invalid-operation flag, as it does where it
/// hides a NaN. Both read the same inputs, none of which `fast` writes to, and write all of output 0. `make`
/// is called at the first such launch, on the launching thread: it holds no pointers into a graph.
std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> fast, std::function<std::unique_ptr<Kernel>()> make);

/// What is needed to create a primitive later.
struct Deferred {
  Descriptor descriptor;
  std::vector<Argument> arguments;
  int threads;
};

/// `anchor`, which does the steps that before_hiding() returns, then the rest of `epilogue` by Lanner's own
/// loops over the result, of shape `result` and stored in `layout` as `type`, f32 or bf16. `channel_axis` is
/// what Spread::channel means.
std::function<std::unique_ptr<Kernel>()> anchor_and_steps(Deferred anchor, const Epilogue& epilogue,
                                                          const Shape& result, const Layout& layout,
                                                          std::size_t channel_axis, DType type = DType::f32);

} // namespace lanner::onednn
