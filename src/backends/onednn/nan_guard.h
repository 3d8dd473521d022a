#pragma once
// Kernels of oneDNN that hide a NaN, run so that none is hidden: see docs/decisions/036-nan.md.

#include <functional>
#include <memory>

#include "backends/epilogue.h"
#include "backends/onednn/execution.h"

namespace lanner::onednn {

/// Whether oneDNN's form of this step gives a number for a NaN.
bool hides_nan(const EpilogueStep& step);
bool hides_nan(const Epilogue& epilogue);
/// The steps in front of the first that hides one.
Epilogue before_hiding(const Epilogue& epilogue);

/// `fast`, and `make`'s kernel after it where `fast` met an invalid operation, as it does where it hides a
/// NaN. Both read the same inputs, none of which `fast` writes to, and write the whole of output 0. `make` is
/// called at the first such launch, by whichever thread is there: it holds no pointers into a graph.
std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> fast, std::function<std::unique_ptr<Kernel>()> make);

/// What a primitive needs to be made, when it is.
struct Deferred {
  Descriptor descriptor;
  std::vector<Argument> arguments;
  int threads;
};

/// `anchor`, which does the steps that before_hiding() gives, then the rest of `epilogue` by Lanner's own
/// loops over the result, which is `result` stored in `layout`. `channel_axis` is what Spread::channel means.
std::function<std::unique_ptr<Kernel>()> anchor_and_steps(Deferred anchor, const Epilogue& epilogue,
                                                          const Shape& result, const Layout& layout,
                                                          std::size_t channel_axis);

} // namespace lanner::onednn
