#pragma once
// Option groups that a command may have for several networks.

#include <string>
#include <string_view>

namespace lanner::tool {

/// Names of a group's options.
struct NamedOptions {
  std::string prefix = "--"; ///< `--then-` for a second network.

  std::string flag(std::string_view name) const { return prefix + std::string(name); }
  /// For the help; a second network's options are described together, not listed again.
  std::string group(const char* title) const { return prefix == "--" ? title : ""; }
};

} // namespace lanner::tool
