#pragma once
// The operators that Lanner brings.

#include "graph/op.h"

namespace lanner {

/// A table with every built-in operator, for a caller to add to.
OpTable builtin_ops();
/// The built-in operators, built once.
const OpTable& builtin_op_table();

} // namespace lanner
