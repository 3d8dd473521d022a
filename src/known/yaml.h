#pragma once
// YAML of strangers, by libyaml.

#include <string_view>

#include <nlohmann/json.hpp>

namespace lanner::known {

/// The first document, as JSON has its values: plain scalars are numbers, true, false or null where they read
/// so, others and quoted ones are strings; of a key that comes twice the last counts. Aliases, tags, keys
/// that are no scalars, more than 64 levels and more than 65,536 values are Error{bad_data}.
nlohmann::json parse_yaml(std::string_view text);

} // namespace lanner::known
