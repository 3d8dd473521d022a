#pragma once
// Prints JSON: the only file of the tool that compiles the JSON library's printer.

#include <string>

#include "input/json_parser.h"

namespace lanner::tool {

/// On one line. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const Json& json);
/// To stdout, indented; control characters are escaped.
void print_json(const Json& json);

} // namespace lanner::tool
