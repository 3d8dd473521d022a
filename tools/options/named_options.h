#pragma once
// Groups of options that a command may have for more than one network.

#include <string>
#include <string_view>

namespace lanner::tool {

/// How the options of a group are called.
struct NamedOptions {
  std::string prefix = "--"; ///< `--then-` of a second network.

  std::string flag(std::string_view name) const { return prefix + std::string(name); }
  /// Of the help; those of a second network are described together, and not listed again.
  std::string group(const char* title) const { return prefix == "--" ? title : ""; }
};

} // namespace lanner::tool
