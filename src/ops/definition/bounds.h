#pragma once
// Bounds of integer attributes.

#include <cstdint>
#include <string_view>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::ops {

/// Largest pad, stride, dilation or kernel size: arithmetic on a few of them stays within 64 bits.
inline constexpr std::int64_t largest_window_size = INT32_MAX;

/// Error{invalid_argument} that shows the value and both bounds.
inline void require_within(std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
  check(value >= least && value <= most, ErrorCode::invalid_argument, "{} holds {}, expected {} to {}", name,
        value, least, most);
}

} // namespace lanner::ops
