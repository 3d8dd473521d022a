#pragma once
// Keeps what is known of a value consistent with its type.

#include "graph/op.h"

namespace lanner {

/// The same knowledge in both forms where both exist; nothing where it does not fit the type.
Known completed(Known known, const Type& type);

} // namespace lanner
