#pragma once
// JSON from outside.

#include <string_view>

#include <nlohmann/json.hpp>

#include <lanner/limits.h>

namespace lanner {

/// Parses one JSON document of UTF-8 text. Throws Error{bad_data} with the byte where it stopped, also for a
/// name that comes twice in one object, and Error{limit_exceeded} past `limits.depth` or 16 x `limits.nodes`
/// values.
nlohmann::json parse_json(std::string_view text, const Limits& limits = {});

} // namespace lanner
