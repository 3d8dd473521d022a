#include "output/profile_json.h"

namespace lanner::tool {

Json profile_json(std::span<const StepProfile> profile) {
  Json steps = Json::array();
  for (const StepProfile& step : profile)
    steps.push_back({{"name", step.name},
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
