#pragma once
// The families of operators: each family's file defines its `NAME_ops`. A new one is a line in families.inc.
// Included by table.cpp alone, so that a new family leaves the others as they were compiled.

#include <vector>

#include "graph/op.h"

namespace lanner::ops {

#define LANNER_FAMILY(name) std::vector<OpDef> name##_ops();
#include "ops/table/families.inc"
#undef LANNER_FAMILY

} // namespace lanner::ops
