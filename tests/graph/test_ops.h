#pragma once

#include "graph/op.h"

namespace lanner::test {

/// A few simple operators for tests of graphs: `plus` (broadcasts), `positive`, `sizes` (a tensor's shape),
/// `fill` (a shape given as a tensor), `nonzero` (a data-dependent size), `choose` (two regions), `repeat`
/// (one region, a count and loop-carried values), `doubled` (expands to plus), `settings` (an attribute of
/// every kind), and Lanner's own constant, fused, reorder.
const OpTable& graph_test_ops();

} // namespace lanner::test
