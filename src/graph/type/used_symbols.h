#pragma once
// Names of open sizes that types hold.

#include <set>
#include <string>

#include "graph/graph.h"

namespace lanner {

/// Adds those of a type, and of what its elements are.
void collect_symbols(const Type& type, std::set<std::string>& into);
/// Of all values of a region and of what is nested in it.
void collect_symbols(const Region& region, std::set<std::string>& into);

} // namespace lanner
