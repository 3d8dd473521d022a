#pragma once
// What follows an option, for help, manual pages and completion.

#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// Of a name like `--precision`, whichever network it is of (`--then-precision`).
struct ShownValue {
  std::string value;                ///< `FILE`, `WIDTHxHEIGHT`; empty where nothing is known.
  std::vector<std::string> choices; ///< Where it takes one of a few words.
};
ShownValue option_value(std::string_view name);
/// Whether such a value is a file or folder of the machine.
bool is_path(std::string_view value);

} // namespace lanner::tool
