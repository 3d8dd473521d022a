#pragma once
// The summary at the end of `lanner run`.

#include <optional>
#include <string>

#include "commands/engine_summary.h"
#include "commands/runner.h"

namespace lanner::tool {

/// How many images, how fast, what limited the rate; the engine and what limits its speed. `then` is of a
/// second network, or null.
std::string run_summary(const RunTotals& totals, const EngineSummary& engine, const EngineSummary* then);

} // namespace lanner::tool
