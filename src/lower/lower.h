#pragma once
// From a canonical graph of concrete shapes to one that says how each node runs and how each value is stored.

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

/// `graph`: canonical; all shapes concrete but those that only running tells. In the result every node has a
/// tactic or is left to the interpreter (`tactic.backend == "interpreter"`), every conversion is a `reorder`
/// node and constants lie as kernels read them.
Lowered lower(std::unique_ptr<Graph> graph, const LowerOptions& options);

/// What lowering begins with: inputs stored as callers hold them, constants known.
void prepare_to_lower(Graph& graph, const LowerOptions& options);

} // namespace lanner
