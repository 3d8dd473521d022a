#pragma once
// Literals of Python, as tools write them into metadata.

#include <string_view>

#include <nlohmann/json.hpp>

#include <lanner/limits.h>

namespace lanner {

/// A dict, list, tuple, string, number, True, False or None, as JSON has them: keys of a dict are strings or
/// whole numbers, and become strings. Strings have no prefixes and no triple quotes. Throws Error{bad_data}
/// with the byte where it stopped, also for a key that comes twice, and Error{limit_exceeded} past
/// `limits.depth` or `limits.nodes` values.
nlohmann::json parse_literal(std::string_view text, const Limits& limits = {});

} // namespace lanner
