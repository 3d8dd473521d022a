#include "output/profile_json.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanner::tool {

/// The model's nodes that the step computes, each once, `conv1 + relu1`.
static std::string title_of(const StepProfile& step) {
  std::vector<std::string_view> names;
  for (const std::string& source : step.sources)
    if (std::ranges::find(names, source) == names.end()) names.push_back(source);
  return names.empty() ? step.name : fmt::format("{}", fmt::join(names, " + "));
}

Json profile_json(std::span<const StepProfile> profile) {
  Json steps = Json::array();
  for (const StepProfile& step : profile)
    steps.push_back({{"name", step.name},
                     {"title", title_of(step)},
                     {"op", step.op},
                     {"backend", step.backend},
                     {"kernel", step.kernel},
                     {"sources", step.sources},
                     {"bytes", step.bytes},
                     {"flops", step.flops},
                     {"runs", step.runs},
                     {"seconds", step.seconds}});
  return steps;
}

} // namespace lanner::tool
