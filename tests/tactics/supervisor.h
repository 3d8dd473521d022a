#pragma once
// Keeps the log of workers, which tactics may end, and starts the next worker behind those.

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

/// What was logged in this sitting.
struct Sitting {
  std::size_t right = 0, wrong = 0, untried = 0;
  bool complete = false; ///< Nothing is left to try.
  std::string failure;   ///< Why it ended early, where that was not for want of time.
};

/// Runs workers until nothing is left or the time is up. Words for people go to standard error.
Sitting supervise(const Supervision& supervision);

} // namespace lanner::sweep
