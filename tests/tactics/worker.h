#pragma once
// The process that tries tactics out. It may be ended by any of them.

#include <string_view>

#include "tactics/settings.h"

namespace lanner::sweep {

/// What the worker tells on its standard output, a line each: a prefix and a row, or words for people.
inline constexpr std::string_view trying_prefix = "try "; ///< Begun; without a verdict.
inline constexpr std::string_view row_prefix = "row ";    ///< For the log.
inline constexpr std::string_view words_prefix = "say ";

/// Exit codes of a worker.
inline constexpr int all_done = 0, refused = 2, time_is_up = 3, start_again = 75;

/// Tries what the log does not hold yet. Returns the exit code.
int work(const Settings& settings);

} // namespace lanner::sweep
