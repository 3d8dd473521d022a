#pragma once
// Decimal numbers, whatever the process's locale.

#include <string_view>

namespace lanner {

/// The number of the shortest decimal that reads back as this float: 0.1 for 0.1f.
double shortest_decimal(float value);
/// What a decimal number is rounded to that std::from_chars calls out of range: an infinity, or about zero.
double beyond_range(std::string_view number);

} // namespace lanner
