#pragma once
// Lowers a canonical graph of concrete shapes to one with a kernel for each node and a storage for each
// value.

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "lower/options.h"
#include "program/lowered/report.h"

namespace lanner {

struct Lowered {
  std::unique_ptr<Graph> graph;
  std::vector<NodeReport> reports;
};

/// `graph`: canonical; all shapes concrete except data-dependent ones. In the result every node has a tactic
/// or is left to the interpreter (`tactic.backend == "interpreter"`), every conversion is a `reorder` node
/// and constants are packed as kernels read them.
Lowered lower(std::unique_ptr<Graph> graph, const LowerOptions& options);

/// First step of lowering: sets the storages of inputs to the callers' and those of constants.
void prepare_to_lower(Graph& graph, const LowerOptions& options);

} // namespace lanner
