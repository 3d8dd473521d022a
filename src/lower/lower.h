#pragma once
// From a canonical graph of concrete shapes to one that says how each node runs and how each value is stored.

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/tactic.h"
#include "lower/options.h"

namespace lanner {

/// A tactic that was considered for a node, for `explain`.
struct Considered {
  std::string backend, kernel, storage; ///< Storage in short: `aBcd16b -> aBcd16b`.
  double seconds = 0;
  bool measured = false, chosen = false;
  Trust trust = Trust::none;
};

/// What lowering decided for one node of the lowered graph, or was decided for the whole.
struct NodeReport {
  std::string node;                   ///< Name of its first output; empty: its notes tell of the whole.
  std::vector<Considered> considered; ///< Cheapest first.
  std::vector<std::string> notes;     ///< Why a backend offered nothing or less, what was left out.
};

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
