#pragma once
// Tactics that the project vouches for.

#include "graph/tactic.h"

namespace lanner {

/// Whether `backend` computes by the operators' definitions: there is nothing to compare it with.
bool is_definition(const Backend& backend);

/// Whether a build that may try nothing out may take this tactic: the definitions, and what the project's
/// sweep (docs/tactics.md) has found right, by backend, kernel and version of the library that it comes from.
bool vouched(const Backend& backend, const Tactic& tactic);

} // namespace lanner
