#pragma once
// Code points of UTF-8 text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lanner::ops {

/// The code point at byte `at`, which moves behind it; nothing for a byte that belongs to none, which `at`
/// moves behind too.
std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& at);
void append_code_point(std::string& text, std::uint32_t code);

} // namespace lanner::ops
