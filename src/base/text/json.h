#pragma once
// Reading and writing JSON; the only file that compiles the library's parser and printer.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lanner/limits.h>

namespace lanner {

/// Parses one JSON document of UTF-8 text. Throws Error{bad_data} with the byte offset, also for a name that
/// appears twice in one object, and Error{limit_exceeded} past `limits.depth` or 16 x `limits.nodes` values.
nlohmann::json parse_json(std::string_view text, const Limits& limits = {});
/// Reads JSON that Lanner wrote, keeping the order of members.
nlohmann::ordered_json parse_own_json(std::string_view text);

/// Adds a member to an object without looking for a duplicate of its name: the library's own ways each visit
/// all members, and a file may ask for a million of them.
void append(nlohmann::ordered_json& object, std::string name, nlohmann::ordered_json value);

/// For people: on one line, or over several with `indent` spaces. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);
/// For files: on one line. Throws Error{bad_data} for invalid UTF-8.
std::string exact_json_text(const nlohmann::json& json);
std::string exact_json_text(const nlohmann::ordered_json& json);

} // namespace lanner
