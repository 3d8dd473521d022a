#pragma once
// What `lanner run` says at its end.

#include <optional>
#include <string>

#include "commands/engine_summary.h"
#include "commands/runner.h"

namespace lanner::tool {

/// How many pictures, how fast, what limited the rate; what the engine is and what holds it back. `then` is
/// of a second network, or null.
std::string run_summary(const RunTotals& totals, const EngineSummary& engine, const EngineSummary* then);

} // namespace lanner::tool
