#pragma once
// Changes to a plan's text that keep most of it meaningful: tokens for tokens of its own or of the language,
// numbers for their neighbours and extremes, storages for others, lines moved. Bytes alone seldom get past
// the parser.

#include <cstdint>
#include <string>

namespace lanner::fuzz {

/// `text` with one to three changes; the same seed makes the same.
std::string mutated_plan(const std::string& text, std::uint32_t seed);

} // namespace lanner::fuzz
