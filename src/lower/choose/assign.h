#pragma once
// Chooses one alternative a node so that the sum of node and edge costs is small.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lanner/cancel.h>

namespace lanner {

/// A partitioned boolean quadratic problem: `nodes[i][a]` is the cost of alternative a of node i; an edge's
/// matrix holds the cost of alternatives (a of `from`, b of `to`) side by side, row-major by `a`. Costs may
/// be infinite.
struct AssignmentProblem {
  struct Edge {
    std::size_t from, to;
    std::vector<double> costs;
  };
  std::vector<std::vector<double>> nodes;
  std::vector<Edge> edges;
};

/// Effort that one call may spend and has spent. Counted, not timed, so that results are the same on every
/// machine.
struct AssignmentEffort {
  /// Costs read while searching for a better choice; the first choice may take four times as many.
  std::uint64_t most = 100'000'000;
  CancelToken cancel = {};     ///< Polled, with the thread's deadline, every million costs.
  std::uint64_t looked_at = 0; ///< Costs of nodes and edges, those copied included.
  std::uint64_t tries = 0;     ///< Complete choices tried, dead ends included.
};

/// Alternative of each node. Nodes of degree 0, 1 and 2 are reduced exactly (Scholz and Eckstein, "Register
/// Allocation for Irregular Architectures", 2002); those of higher degree are tried out by branch and bound,
/// the alternative first that is cheapest with its neighbours' best answers, and the best of so many choices
/// is taken: of all in small problems. Alternatives that a choice makes impossible are removed at once, along
/// all edges (arc consistency: Mackworth, "Consistency in Networks of Relations", 1977), so that groups of
/// nodes which all take the same or none never end a try late. A few rounds of single-node improvement
/// follow. Deterministic. Where no choice of finite cost was found within the effort, `otherwise` is what is
/// improved (empty: the first of each). Throws Error{cancelled}, and Error{limit_exceeded} past the thread's
/// deadline.
std::vector<std::size_t> assign(const AssignmentProblem& problem, std::span<const std::size_t> otherwise = {},
                                AssignmentEffort* effort = nullptr);

/// Total cost of a choice.
double cost_of(const AssignmentProblem& problem, std::span<const std::size_t> choice);

} // namespace lanner
