#pragma once
// From a canonical graph of concrete shapes to one that says how each node runs and how each value is stored.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lanner/cancel.h>

#include "engine/packing.h"
#include "engine/tuner.h"
#include "graph/graph.h"
#include "graph/tactic.h"

namespace lanner {

/// A tactic that was considered for a node, for `explain`.
struct Considered {
  std::string backend, kernel, storage; ///< Storage in short: `aBcd16b -> aBcd16b`.
  double seconds = 0;
  bool measured = false, chosen = false;
  Trust trust = Trust::none;
};

/// What lowering decided for one node of the lowered graph.
struct NodeReport {
  std::string node;                   ///< Name of its first output.
  std::vector<Considered> considered; ///< Cheapest first.
  std::vector<std::string> notes;     ///< Why a backend offered nothing or less, why a body was taken apart.
};

struct NodeAlternatives;
/// Told of each node's alternatives and of the number of the one that is taken, before it is.
using ChoiceObserver = std::function<void(const NodeAlternatives& entry, std::size_t chosen)>;

struct LowerOptions {
  std::span<const Backend* const> backends;
  Target target;
  Tuner& tuner;
  PackedConstants& constants;
  const Control& control;
  const Graph* like =
      nullptr; ///< A lowered graph of other shapes whose choices are taken over where they fit.
  ChoiceObserver observe = {};
};

struct Lowered {
  std::unique_ptr<Graph> graph;
  std::vector<NodeReport> reports;
};

/// `graph`: canonical; all shapes concrete but those that only running tells. In the result every node has a
/// tactic or is left to the interpreter (`tactic.backend == "interpreter"`), every conversion is a `reorder`
/// node and constants lie as kernels read them.
Lowered lower(std::unique_ptr<Graph> graph, const LowerOptions& options);

/// What lowering begins with: the graph in the types and the groups that kernels are asked for.
void prepare_to_lower(Graph& graph, const LowerOptions& options);

/// The tactic that a lowered node names, as its backend offers it today, or null when it offers it no more.
struct OfferedTactic {
  const Backend* backend = nullptr;
  Tactic tactic;
};
std::optional<OfferedTactic> find_offered(const Node& node, std::span<const Backend* const> backends,
                                          const Target& target);

/// Whether a node's output may lie in its input's memory at no cost: a change of shape, or a transpose whose
/// output is stored in the order that the input has.
bool is_alias(const Node& node);

inline constexpr const char* interpreter_backend =
    "interpreter"; ///< Runs a node by its definition, shapes found as it runs.
inline constexpr const char* alias_backend = "alias"; ///< Output lies in the input's memory: nothing runs.

} // namespace lanner
