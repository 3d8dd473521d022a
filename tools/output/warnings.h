#pragma once
// Log messages of the library.

#include <mutex>
#include <string>
#include <vector>

namespace lanner::tool {

/// From now on prints the library's messages from the level of LANNER_LOG on stderr: debug, info or warning.
void show_log();

/// Collects the library's warnings while it lives, and prints them on stderr, a line each, when destroyed.
class ShownWarnings {
public:
  ShownWarnings();
  ~ShownWarnings();
  ShownWarnings(const ShownWarnings&) = delete;
  ShownWarnings& operator=(const ShownWarnings&) = delete;

private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

} // namespace lanner::tool
