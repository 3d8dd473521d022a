#pragma once
// What the library says beside results and errors.

#include <mutex>
#include <string>
#include <vector>

namespace lanner::tool {

/// From here on stderr gets what the library says from the level of LANNER_LOG on: debug, info or warning.
void show_log();

/// Gathers the library's warnings while it lives, and puts them on stderr, a line each, when it dies.
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
