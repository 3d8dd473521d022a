#pragma once
// Resolves axes of operators: negative ones count from the back.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lanner::ops {

/// `axis` counted from the front; Error{invalid_argument} outside [-rank, rank).
std::size_t resolve_axis(std::int64_t axis, std::size_t rank, std::string_view what = "axis");

/// Each of `axes` counted from the front, in the order given; a repeated axis is an Error{invalid_argument}.
std::vector<std::size_t> resolve_axes(std::span<const std::int64_t> axes, std::size_t rank,
                                      std::string_view what = "axes");

/// `index` counted from the front; Error{invalid_argument} outside [-size, size).
std::int64_t resolve_index(std::int64_t index, std::int64_t size);

} // namespace lanner::ops
