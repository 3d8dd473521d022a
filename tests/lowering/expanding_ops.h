#pragma once

#include "graph/op.h"

namespace lanner::test {

/// The operators of models, with some that other operators define: test.doubled(x) is 2 * x by a constant of
/// its own, test.shifted(x, y) is relu(test.doubled(x)) + y.
const OpTable& expanding_op_table();

} // namespace lanner::test
