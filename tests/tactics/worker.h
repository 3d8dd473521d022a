#pragma once
// The process that tests tactics. Any of them may crash it.

#include <string_view>

#include "tactics/settings.h"

namespace lanner::sweep {

/// Lines on the worker's standard output: a prefix and a row, or progress text.
inline constexpr std::string_view trying_prefix = "try "; ///< Started; without a verdict.
inline constexpr std::string_view row_prefix = "row ";    ///< For the log.
inline constexpr std::string_view words_prefix = "say ";

/// Exit codes of a worker.
inline constexpr int all_done = 0, refused = 2, time_is_up = 3, start_again = 75;

/// Tests what is not in the log yet. Returns the exit code.
int work(const Settings& settings);

} // namespace lanner::sweep
