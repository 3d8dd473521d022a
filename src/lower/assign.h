#pragma once
// Chooses one alternative a node so that the sum of node and edge costs is small.

#include <cstddef>
#include <span>
#include <vector>

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

/// Alternative of each node. Nodes of degree 0, 1 and 2 are reduced exactly (Scholz and Eckstein, "Register
/// Allocation for Irregular Architectures", 2002); those of higher degree are tried out by branch and bound,
/// the alternative first that is cheapest with its neighbours' best answers, and the best of so many choices
/// is taken: of all in small problems. A few rounds of single-node improvement follow. Deterministic. Where
/// no choice of finite cost was found among those tried, `otherwise` is what is improved (empty: the first of
/// each).
std::vector<std::size_t> assign(const AssignmentProblem& problem,
                                std::span<const std::size_t> otherwise = {});

/// Total cost of a choice.
double cost_of(const AssignmentProblem& problem, std::span<const std::size_t> choice);

} // namespace lanner
