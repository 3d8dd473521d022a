#include "backends/resampling/resampling.h"

namespace lanner {

std::optional<std::vector<ops::ResampledAxis>> taps_of(const GroupOp& op) {
  for (std::size_t i = 1; i < op.inputs.size(); ++i)
    if (op.input(i) && !op.input(i).constant) return std::nullopt;
  const Shape x = op.input(0).shape(), y = op.type().shape();
  const ops::TapsQuestion question{op.attributes(), x, y,
                                   [&](std::size_t i) { return op.input(i).constant; }};
  return op.kind() == "resize" ? ops::resize_taps(question) : ops::pad_taps(question);
}

} // namespace lanner
