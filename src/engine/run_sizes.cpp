#include <lanner/run_sizes.h>

#include <algorithm>

#include <lanner/batch.h>

#include "base/check.h"

namespace lanner {
namespace {

/// The fixed batch size of a network, 0 where it is open. An input [3, H, W] takes one picture.
std::size_t fixed_number(const Binding& input) {
  if (input.image.empty() && input.dims.size() == 3) return 1;
  return input.dims.empty() ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(0, input.dims[0]));
}

/// Whether each output has a batch axis, judged by the names of sizes.
bool is_batched_by_name(const Engine& engine, const Binding& input) {
  const bool open = !input.dims.empty() && input.dims[0] < 0;
  return open && std::ranges::all_of(engine.outputs(), [&](const Binding& output) {
           return !output.sequence && output.dtype != DType::string && !output.dims.empty() &&
                  output.dim_names[0] == input.dim_names[0];
         });
}

} // namespace

RunSizes::RunSizes(const Engine& engine, const std::string& input, int full, bool ready)
    : full_(static_cast<std::size_t>(std::max(1, full))) {
  check(full > 0, ErrorCode::invalid_argument, "batch: expected at least 1, got {}", full);
  const auto found = std::ranges::find(engine.inputs(), input, &Binding::name);
  if (found == engine.inputs().end()) return; // Binding reports it.
  fixed_ = fixed_number(*found);
  check(fixed_ == 0 || fixed_ == full_, ErrorCode::invalid_argument,
        "batch: the network takes {} frames in one run, {} were asked for", fixed_, full);
  filled_up_ = ready && is_batched_by_name(engine, *found);
}

std::size_t RunSizes::of(std::size_t pictures) const {
  return std::max({pictures, fixed_, filled_up_ ? full_ : 0});
}

void RunSizes::learn(const Engine& engine, const Context& context, std::size_t pictures) {
  if (pictures == full_ && !filled_up_) filled_up_ = has_batch_parts(engine, context, pictures);
}

} // namespace lanner
