#include "ops/table/table.h"

#include "ops/table/families.h"

namespace lanner {

OpTable builtin_ops() {
  OpTable table;
#define LANNER_FAMILY(name) table.add(ops::name##_ops());
#include "ops/table/families.inc"
#undef LANNER_FAMILY
  return table;
}

const OpTable& builtin_op_table() {
  static const OpTable table = builtin_ops();
  return table;
}

} // namespace lanner
