#pragma once
// JSON printed: the one file of the tool where its library's printer is compiled.

#include <string>

#include "input/json_parser.h"

namespace lanner::tool {

/// On one line. What is no UTF-8 becomes U+FFFD.
std::string json_text(const Json& json);
/// To stdout, over several lines; control characters are escaped.
void print_json(const Json& json);

} // namespace lanner::tool
