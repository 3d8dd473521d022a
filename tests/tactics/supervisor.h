#pragma once
// Writes the log of workers, which tactics may crash, and restarts them after the failed tactic.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lanner::sweep {

struct Supervision {
  /// Command and arguments of a worker that has this many seconds left.
  std::function<std::vector<std::string>(double seconds_left)> command;
  std::filesystem::path log;
  double seconds = 0; ///< For all workers together.
  double timeout = 0; ///< Seconds that a worker may take for a row.
};

/// Results of one session.
struct Sitting {
  std::size_t right = 0, wrong = 0, untried = 0;
  bool complete = false; ///< Nothing is left to test.
  std::string failure;   ///< Why it ended early, if not out of time.
};

/// Runs workers until nothing is left or the time is up. Progress goes to standard error.
Sitting supervise(const Supervision& supervision);

} // namespace lanner::sweep
