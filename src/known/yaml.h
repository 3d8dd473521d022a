#pragma once
// Parses untrusted YAML with libyaml.

#include <string_view>

#include <nlohmann/json.hpp>

namespace lanner::known {

/// The first document as JSON values: plain scalars are numbers, true, false or null where they match, others
/// and quoted ones are strings; of duplicate keys the last counts. Aliases, tags, non-scalar keys, more than
/// 64 levels and more than 65,536 values are Error{bad_data}.
nlohmann::json parse_yaml(std::string_view text);

} // namespace lanner::known
