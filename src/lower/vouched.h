#pragma once
// Tactics that the project vouches for.

#include <span>
#include <string_view>

#include "graph/graph.h"
#include "graph/tactic.h"

namespace lanner {

/// Whether `backend` computes by the operators' definitions: there is nothing to compare it with.
bool is_definition(const Backend& backend);

/// Whether a build that may try nothing out may take this kernel: the definitions, and what the project's
/// sweep (docs/tactics.md) has found right, by backend, kernel and version of the library that it comes from.
/// `strided`: with values within larger ones, of which the sweep has seen none: then the project's own
/// kernels.
bool vouched(const Backend& backend, std::string_view kernel, bool strided = false);
/// Whether that holds for all kernels of a lowered graph: those may run on another number of threads than
/// they were checked for.
bool vouched(const Graph& lowered, std::span<const Backend* const> backends);

} // namespace lanner
