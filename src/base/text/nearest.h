#pragma once
// Edit distance between names.

#include <cstddef>
#include <string_view>

#include <lanner/nearest.h>

namespace lanner {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

} // namespace lanner
