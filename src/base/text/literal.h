#pragma once
// Python literals, as tools write them into metadata.

#include <string_view>

#include <nlohmann/json.hpp>

#include <lanner/limits.h>

namespace lanner {

/// A dict, list, tuple, string, number, True, False or None, as its JSON equivalent: the keys of a dict are
/// strings or integers, and become strings. Strings have no prefixes and no triple quotes. Throws
/// Error{bad_data} with the byte offset, also for a key that appears twice, and Error{limit_exceeded} past
/// `limits.depth` or `limits.nodes` values.
nlohmann::json parse_literal(std::string_view text, const Limits& limits = {});

} // namespace lanner
