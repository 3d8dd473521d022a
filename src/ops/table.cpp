#include "ops/table.h"

namespace lanner {

OpTable builtin_ops() {
  OpTable table;
  table.add(ops::constant_ops());
  table.add(ops::fused_ops());
  table.add(ops::reorder_ops());
  return table;
}

const OpTable& builtin_op_table() {
  static const OpTable table = builtin_ops();
  return table;
}

} // namespace lanner
