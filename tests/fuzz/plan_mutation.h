#pragma once
// Mutations of a plan's text that keep most of it meaningful: tokens replaced by others of the text or the
// language, numbers by neighbours and extremes, storages by others, lines moved. Byte mutations rarely pass
// the parser.

#include <cstdint>
#include <string>

namespace lanner::fuzz {

/// `text` with one to three changes; the same seed gives the same changes.
std::string mutated_plan(const std::string& text, std::uint32_t seed);

} // namespace lanner::fuzz
