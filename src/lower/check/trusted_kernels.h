#pragma once
// The project's list of trusted kernels, taken without a check.

#include <span>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// Whether `backend` is the reference implementation itself, which there is nothing to compare with.
bool is_definition(const Backend& backend);

/// Whether a build that may not measure can use all kernels of a lowered graph (Backend::trusts()), which may
/// run on another number of threads than they were checked with.
bool trusted(const Graph& lowered, std::span<const Backend* const> backends);

} // namespace lanner
