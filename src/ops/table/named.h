#pragma once
// Operators that higher layers recognise individually, where no trait says it: what a node's regions are for,
// and which movement it is.

#include "graph/graph.h"

namespace lanner::ops {

bool is_loop(const Node& node);
bool is_scan(const Node& node);
bool is_branch(const Node& node);     ///< `if`
bool is_row_blocks(const Node& node); ///< `row_blocks`, which lowering makes.

bool is_cast(const Node& node);
bool is_transpose(const Node& node);
bool is_concat(const Node& node);
bool takes_parts(const Node& node); ///< `slice` and `split`: each result is a part of the operand.

} // namespace lanner::ops
