#pragma once
// Case-insensitive matching of letters.

#include <cstdint>
#include <vector>

namespace lanner::ops {

struct CodeSet;

/// Adds the letters that differ from those of the set only in case (Unicode's simple case folding, as the C
/// library implements it: `k`, `K` and the Kelvin sign are one letter). Uses the listed ranges of `set`,
/// whether it is inverted or not.
void add_other_cases(CodeSet& set);

} // namespace lanner::ops
