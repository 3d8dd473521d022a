#pragma once
// The families of operators: each family's file defines its `NAME_ops`. Add a new one to families.inc.
// Included by table.cpp only, so that a new family recompiles no others.

#include <vector>

#include "graph/op.h"

namespace lanner::ops {

#define LANNER_FAMILY(name) std::vector<OpDef> name##_ops();
#include "ops/table/families.inc"
#undef LANNER_FAMILY

} // namespace lanner::ops
