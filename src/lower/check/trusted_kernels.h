#pragma once
// Tactics that the project vouches for.

#include <span>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// Whether `backend` computes by the operators' definitions: there is nothing to compare it with.
bool is_definition(const Backend& backend);

/// Whether a build that may try nothing out may take all kernels of a lowered graph (Backend::trusts()):
/// those may run on another number of threads than they were checked for.
bool trusted(const Graph& lowered, std::span<const Backend* const> backends);

} // namespace lanner
