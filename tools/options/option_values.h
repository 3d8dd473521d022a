#pragma once
// Values of options, for help, manual pages and completion.

#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// For a name like `--precision`, of the first or the second network (`--then-precision`).
struct ShownValue {
  std::string value;                ///< `FILE`, `WIDTHxHEIGHT`; empty where not known.
  std::vector<std::string> choices; ///< Where it is one of a few words.
};
ShownValue option_value(std::string_view name);
/// Whether such a value is a file or folder.
bool is_path(std::string_view value);

} // namespace lanner::tool
