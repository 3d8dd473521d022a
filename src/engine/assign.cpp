#include "engine/assign.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace lanner {
namespace {

using Matrix = std::vector<double>; ///< Row-major: lower-numbered node's alternative, then the other's.

/// Reduces the problem node by node, then answers in reverse.
class Reduction {
public:
  explicit Reduction(const AssignmentProblem& problem)
      : costs_(problem.nodes), neighbours_(problem.nodes.size()) {
    for (const auto& edge : problem.edges) add(edge.from, edge.to, edge.costs);
    for (std::size_t i = 0; i < costs_.size(); ++i) queue_.insert({neighbours_[i].size(), i});
  }

  std::vector<std::size_t> solve() {
    std::vector<std::size_t> choice(costs_.size(), 0);
    while (!queue_.empty()) {
      const std::size_t node = pick();
      queue_.erase({neighbours_[node].size(), node});
      order_.push_back({node, {}});
      for (const auto& [other, matrix] : neighbours_[node])
        order_.back().edges.push_back({other, oriented(node, other, matrix)});
      reduce(node);
    }
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) choice[it->node] = answer(*it, choice);
    return choice;
  }

private:
  struct Removed {
    std::size_t node;
    std::vector<std::pair<std::size_t, Matrix>> edges; ///< Matrix by (this node's, neighbour's) alternative.
  };

  /// Lowest degree first; ties by number, so results never depend on addresses.
  std::size_t pick() const { return queue_.begin()->second; }

  Matrix oriented(std::size_t row, std::size_t column, const Matrix& matrix) const {
    if (row < column) return matrix;
    const std::size_t rows = costs_[row].size(), columns = costs_[column].size();
    Matrix turned(rows * columns);
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t b = 0; b < columns; ++b) turned[a * columns + b] = matrix[b * rows + a];
    return turned;
  }

  void add(std::size_t from, std::size_t to, const Matrix& costs) {
    if (from == to) {
      for (std::size_t a = 0; a < costs_[from].size(); ++a)
        costs_[from][a] += costs[a * costs_[from].size() + a];
      return;
    }
    // `costs` is by (from, to); stored by (lower, higher).
    Matrix stored = costs;
    if (from > to) {
      const std::size_t rows = costs_[from].size(), columns = costs_[to].size();
      for (std::size_t a = 0; a < rows; ++a)
        for (std::size_t b = 0; b < columns; ++b) stored[b * rows + a] = costs[a * columns + b];
    }
    Matrix& total = neighbours_[from][to];
    if (total.empty()) total.assign(stored.size(), 0.0);
    for (std::size_t k = 0; k < stored.size(); ++k) total[k] += stored[k];
    neighbours_[to][from] = total;
  }

  void connect(std::size_t a, std::size_t b, const Matrix& costs) {
    if (queue_.contains({neighbours_[a].size(), a})) {
      queue_.erase({neighbours_[a].size(), a});
      queue_.erase({neighbours_[b].size(), b});
      add(a, b, costs);
      queue_.insert({neighbours_[a].size(), a});
      queue_.insert({neighbours_[b].size(), b});
    }
  }

  void disconnect(std::size_t node) {
    for (const auto& [other, matrix] : neighbours_[node]) {
      queue_.erase({neighbours_[other].size(), other});
      neighbours_[other].erase(node);
      queue_.insert({neighbours_[other].size(), other});
    }
    neighbours_[node].clear();
  }

  /// Moves what `node` costs its neighbours onto them.
  void reduce(std::size_t node) {
    const Removed& removed = order_.back();
    disconnect(node);
    if (removed.edges.size() == 1) {
      reduce_one(node, removed.edges[0]);
    } else if (removed.edges.size() == 2) {
      reduce_two(node, removed.edges[0], removed.edges[1]);
    } else if (!removed.edges.empty()) {
      fix(node, removed);
    }
  }

  void reduce_one(std::size_t node, const std::pair<std::size_t, Matrix>& edge) {
    std::vector<double>& target = costs_[edge.first];
    for (std::size_t b = 0; b < target.size(); ++b) {
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t a = 0; a < costs_[node].size(); ++a)
        best = std::min(best, costs_[node][a] + edge.second[a * target.size() + b]);
      target[b] += best;
    }
  }

  void reduce_two(std::size_t node, const std::pair<std::size_t, Matrix>& first,
                  const std::pair<std::size_t, Matrix>& second) {
    const std::size_t rows = costs_[first.first].size(), columns = costs_[second.first].size();
    Matrix joint(rows * columns, std::numeric_limits<double>::infinity());
    for (std::size_t a = 0; a < costs_[node].size(); ++a)
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          const double cost = costs_[node][a] + first.second[a * rows + r] + second.second[a * columns + c];
          joint[r * columns + c] = std::min(joint[r * columns + c], cost);
        }
    connect(first.first, second.first, joint);
  }

  /// Heuristic for degree three and more: keep the alternative that is cheapest when each neighbour answers
  /// at its best.
  void fix(std::size_t node, const Removed& removed) {
    std::size_t best = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < costs_[node].size(); ++a) {
      double cost = costs_[node][a];
      for (const auto& [other, matrix] : removed.edges) {
        double answer = std::numeric_limits<double>::infinity();
        for (std::size_t b = 0; b < costs_[other].size(); ++b)
          answer = std::min(answer, costs_[other][b] + matrix[a * costs_[other].size() + b]);
        cost += answer;
      }
      if (cost < best_cost) best = a, best_cost = cost;
    }
    for (const auto& [other, matrix] : removed.edges)
      for (std::size_t b = 0; b < costs_[other].size(); ++b)
        costs_[other][b] += matrix[best * costs_[other].size() + b];
    for (std::size_t a = 0; a < costs_[node].size(); ++a)
      if (a != best) costs_[node][a] = std::numeric_limits<double>::infinity();
  }

  std::size_t answer(const Removed& removed, const std::vector<std::size_t>& choice) const {
    const std::vector<double>& own = costs_[removed.node];
    std::size_t best = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < own.size(); ++a) {
      double cost = own[a];
      for (const auto& [other, matrix] : removed.edges)
        cost += matrix[a * costs_[other].size() + choice[other]];
      if (cost < best_cost) best = a, best_cost = cost;
    }
    return best;
  }

  std::vector<std::vector<double>> costs_;
  std::vector<std::map<std::size_t, Matrix>> neighbours_;
  std::set<std::pair<std::size_t, std::size_t>> queue_; ///< (degree, node) of nodes not yet removed.
  std::vector<Removed> order_;
};

/// Changes one node at a time while that helps.
void improve(const AssignmentProblem& problem, std::vector<std::size_t>& choice) {
  std::vector<std::vector<const AssignmentProblem::Edge*>> edges(problem.nodes.size());
  for (const auto& edge : problem.edges) {
    edges[edge.from].push_back(&edge);
    if (edge.to != edge.from) edges[edge.to].push_back(&edge);
  }
  const auto local = [&](std::size_t node, std::size_t alternative) {
    double cost = problem.nodes[node][alternative];
    for (const auto* edge : edges[node]) {
      const std::size_t a = edge->from == node ? alternative : choice[edge->from];
      const std::size_t b = edge->to == node ? alternative : choice[edge->to];
      cost += edge->costs[a * problem.nodes[edge->to].size() + b];
    }
    return cost;
  };
  for (int round = 0; round < 8; ++round) {
    bool changed = false;
    for (std::size_t node = 0; node < choice.size(); ++node) {
      double best = local(node, choice[node]);
      for (std::size_t a = 0; a < problem.nodes[node].size(); ++a)
        if (const double cost = local(node, a); cost < best) best = cost, choice[node] = a, changed = true;
    }
    if (!changed) return;
  }
}

} // namespace

std::vector<std::size_t> assign(const AssignmentProblem& problem) {
  std::vector<std::size_t> choice = Reduction(problem).solve();
  improve(problem, choice);
  return choice;
}

double cost_of(const AssignmentProblem& problem, std::span<const std::size_t> choice) {
  double total = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) total += problem.nodes[i][choice[i]];
  for (const auto& edge : problem.edges)
    total += edge.costs[choice[edge.from] * problem.nodes[edge.to].size() + choice[edge.to]];
  return total;
}

} // namespace lanner
