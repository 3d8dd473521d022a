#pragma once

#include "graph/op.h"

namespace lanner::test {

/// A few operators that tests of graphs can reason about: `plus` (broadcasts), `positive`, `sizes` (a
/// tensor's shape), `fill` (a shape given as a tensor), `nonzero` (a size only running tells), `choose` (two
/// regions), `repeat` (one region, a count and carried values), `doubled` (expands to plus), `settings` (an
/// attribute of every kind), and Lanner's own constant, fused, reorder.
const OpTable& graph_test_ops();

} // namespace lanner::test
