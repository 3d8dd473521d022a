#pragma once
// Whole numbers of a plan's tables. The library's own conversion cuts what does not fit.

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include <lanner/shape.h>

namespace lanner {

/// Throws Error{bad_data} for what is no whole number from `least` to `most`.
std::int64_t plan_integer(const nlohmann::json& json, std::int64_t least, std::int64_t most);
/// A list of sizes. Throws Error{bad_data} for what is none from 0 on, and beyond the rank that tensors have.
Shape plan_shape(const nlohmann::json& json, std::uint32_t most_dims);

} // namespace lanner
