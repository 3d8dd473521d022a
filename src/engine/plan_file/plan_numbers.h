#pragma once
// Checked integers in a plan's tables: the JSON library's own conversion truncates silently.

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include <lanner/shape.h>

namespace lanner {

/// Throws Error{bad_data} unless it is an integer from `least` to `most`.
std::int64_t plan_integer(const nlohmann::json& json, std::int64_t least, std::int64_t most);
/// A list of sizes. Throws Error{bad_data} for a negative or non-integer size and for too many dims.
Shape plan_shape(const nlohmann::json& json, std::uint32_t most_dims);

} // namespace lanner
