// Weights of a program on its device.

#include <set>

#include "graph/graph.h"
#include "program/program.h"

namespace lanner {
namespace {

/// A constant on the device may be streamed if only steps of recorded segments read it. With several devices
/// all are resident: segments wait for each other, not for copies.
WeightNeeds weight_needs(const Program& program) {
  WeightNeeds needs;
  needs.device = program.device();
  needs.forms.assign(program.constants().begin(), program.constants().end());
  for (const auto& node : program.graph().body().nodes())
    if (is_constant(*node)) needs.devices.push_back(node->output()->storage.device);
  needs.recorded.assign(needs.forms.size(), true);
  const bool alone = program.devices().size() == 1;
  std::size_t number = 0;
  for (const Segment& segment : program.segments()) {
    const bool streams = segment.recorded && alone;
    for (std::size_t s = segment.first; s < segment.first + segment.steps; ++s) {
      const Step& step = program.steps()[s];
      std::set<std::uint32_t> read;
      for (const ValueLocation& location : program.inputs().subspan(step.first_input, step.inputs))
        if (location.kind == ValueLocation::Kind::constant) read.insert(location.index);
      if (streams && !read.empty()) needs.readers.push_back({number, s, {read.begin(), read.end()}});
      for (const std::uint32_t constant : read)
        needs.recorded[constant] = needs.recorded[constant] && streams;
    }
    ++number;
  }
  return needs;
}

} // namespace

std::shared_ptr<const WeightLocations> Program::weights() const {
  std::call_once(placed_, [this] { weights_ = table_->add(weight_needs(*this)); });
  return weights_->placed();
}

} // namespace lanner
