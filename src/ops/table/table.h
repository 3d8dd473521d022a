#pragma once
// The built-in operators.

#include "graph/op.h"

namespace lanner {

/// A table with every built-in operator, to which the caller may add.
OpTable builtin_ops();
/// The built-in operators, built once.
const OpTable& builtin_op_table();

} // namespace lanner
