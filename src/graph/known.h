#pragma once
// Keeps the known contents of a value consistent with its type.

#include "graph/op.h"

namespace lanner {

/// Fills in both forms of the known contents where both exist; empty where they do not fit the type.
Known completed(Known known, const Type& type);

} // namespace lanner
