#pragma once
// Symbols that occur in types.

#include <set>
#include <string>

#include "graph/graph.h"

namespace lanner {

/// Adds the symbols of a type, and of its element type.
void collect_symbols(const Type& type, std::set<std::string>& into);
/// Of all values of a region and its nested regions.
void collect_symbols(const Region& region, std::set<std::string>& into);

} // namespace lanner
