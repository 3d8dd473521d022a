#pragma once
// Graphs that a test spells.

#include <memory>
#include <string_view>

#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "ops/table/table.h"

namespace lanner::test {

/// Of the operators that the library has, with types inferred.
inline std::unique_ptr<Graph> parsed(std::string_view text) {
  auto graph = parse_graph(text, builtin_op_table());
  infer_types(*graph);
  return graph;
}

} // namespace lanner::test
