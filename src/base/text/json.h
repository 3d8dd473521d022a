#pragma once
// JSON read and written: the one file where its library's parser and printer are compiled.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lanner/limits.h>

namespace lanner {

/// Parses one JSON document of UTF-8 text. Throws Error{bad_data} with the byte where it stopped, also for a
/// name that comes twice in one object, and Error{limit_exceeded} past `limits.depth` or 16 x `limits.nodes`
/// values.
nlohmann::json parse_json(std::string_view text, const Limits& limits = {});
/// Reads what Lanner wrote itself, in its order.
nlohmann::ordered_json parse_own_json(std::string_view text);

/// Adds a member to an object that has none of this name, which is not looked for: of the other ways to add
/// one each looks at all members, and a file may ask for a million of them.
void append(nlohmann::ordered_json& object, std::string name, nlohmann::ordered_json value);

/// For readers: on one line, or over several with `indent` spaces. What is no UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);
/// For files: on one line. Throws Error{bad_data} where a text is no UTF-8.
std::string exact_json_text(const nlohmann::json& json);
std::string exact_json_text(const nlohmann::ordered_json& json);

} // namespace lanner
