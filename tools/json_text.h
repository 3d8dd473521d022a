#pragma once
// JSON read and printed: the one file of the tool where its library's parser and printer are compiled.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace lanner::tool {

using Json = nlohmann::ordered_json;

/// Throws Json::parse_error.
Json parse_json(std::string_view text);
/// On one line. What is no UTF-8 becomes U+FFFD.
std::string json_text(const Json& json);
/// To stdout, over several lines; control characters are escaped.
void print_json(const Json& json);

} // namespace lanner::tool
