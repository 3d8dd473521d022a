#include "ops/table/named.h"

namespace lanner::ops {

bool is_loop(const Node& node) {
  return node.kind() == "loop";
}

bool is_scan(const Node& node) {
  return node.kind() == "scan";
}

bool is_branch(const Node& node) {
  return node.kind() == "if";
}

bool is_row_blocks(const Node& node) {
  return node.kind() == "row_blocks";
}

bool is_cast(const Node& node) {
  return node.kind() == "cast";
}

bool is_transpose(const Node& node) {
  return node.kind() == "transpose";
}

bool is_concat(const Node& node) {
  return node.kind() == "concat";
}

bool takes_parts(const Node& node) {
  return node.kind() == "slice" || node.kind() == "split";
}

} // namespace lanner::ops
