#pragma once
// Letters that are equal where case is ignored.

#include <cstdint>
#include <vector>

namespace lanner::ops {

struct CodeSet;

/// Adds the letters that differ from those of the set in case alone (Unicode's simple case folding, as the C
/// library knows it: `k`, `K` and the Kelvin sign are one letter). `set` lists what it holds, whether it is
/// inverted or not.
void add_other_cases(CodeSet& set);

} // namespace lanner::ops
