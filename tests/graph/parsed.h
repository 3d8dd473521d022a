#pragma once
// Graphs given as text.

#include <memory>
#include <string_view>

#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "ops/table/table.h"

namespace lanner::test {

/// A graph of the library's operators, with inferred types.
inline std::unique_ptr<Graph> parsed(std::string_view text) {
  auto graph = parse_graph(text, builtin_op_table());
  infer_types(*graph);
  return graph;
}

} // namespace lanner::test
