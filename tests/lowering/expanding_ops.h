#pragma once

#include "graph/op.h"

namespace lanner::test {

/// The built-in operators and some that expand to others: test.doubled(x) is 2 * x with its own constant,
/// test.shifted(x, y) is relu(test.doubled(x)) + y.
const OpTable& expanding_op_table();

} // namespace lanner::test
