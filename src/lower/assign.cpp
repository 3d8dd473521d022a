#include "lower/assign.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace lanner {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using Matrix = std::vector<double>; ///< Row-major: lower-numbered node's alternative, then the other's.

/// Takes nodes off until none is left. Those of up to two neighbours are taken off exactly, which alternative
/// they get is told by what their neighbours get; of the others the caller fixes one at a time.
class Reduction {
public:
  explicit Reduction(const AssignmentProblem& problem)
      : costs_(problem.nodes), neighbours_(problem.nodes.size()) {
    for (const auto& edge : problem.edges) add(edge.from, edge.to, edge.costs);
    for (std::size_t i = 0; i < costs_.size(); ++i) queue_.insert({neighbours_[i].size(), i});
  }

  /// The next node to fix; nothing once none is left.
  std::optional<std::size_t> next() {
    while (!queue_.empty()) {
      const std::size_t node = pick();
      if (neighbours_[node].size() > 2) return node;
      take_off(node);
      const Removed& removed = *order_.back();
      if (removed.edges.empty())
        cost_ += *std::ranges::min_element(costs_[node]);
      else if (removed.edges.size() == 1)
        reduce_one(node, removed.edges[0]);
      else
        reduce_two(node, removed.edges[0], removed.edges[1]);
    }
    return std::nullopt;
  }

  /// The node's alternatives whose costs are finite, the cheapest first when each neighbour answers at its
  /// best.
  std::vector<std::size_t> alternatives(std::size_t node) const {
    std::vector<std::pair<double, std::size_t>> expected;
    for (std::size_t a = 0; a < costs_[node].size(); ++a) {
      double cost = costs_[node][a];
      for (const auto& [other, matrix] : neighbours_[node]) cost += best_answer(node, a, other, matrix);
      if (cost < infinite) expected.emplace_back(cost, a);
    }
    std::ranges::sort(expected);
    std::vector<std::size_t> list;
    for (const auto& [cost, alternative] : expected) list.push_back(alternative);
    return list;
  }

  void fix(std::size_t node, std::size_t alternative) {
    take_off(node);
    for (const auto& [other, matrix] : order_.back()->edges)
      for (std::size_t b = 0; b < costs_[other].size(); ++b)
        costs_[other][b] += matrix[alternative * costs_[other].size() + b];
    cost_ += costs_[node][alternative];
    for (std::size_t a = 0; a < costs_[node].size(); ++a)
      if (a != alternative) costs_[node][a] = infinite;
  }

  /// Of all nodes that are settled; of the whole choice once none is left.
  double cost() const { return cost_; }

  std::vector<std::size_t> choice() const {
    std::vector<std::size_t> choice(costs_.size(), 0);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) choice[(*it)->node] = answer(**it, choice);
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

  void take_off(std::size_t node) {
    queue_.erase({neighbours_[node].size(), node});
    Removed removed{node, {}};
    for (const auto& [other, matrix] : neighbours_[node])
      removed.edges.push_back({other, oriented(node, other, matrix)});
    order_.push_back(std::make_shared<const Removed>(std::move(removed)));
    for (const auto& [other, matrix] : neighbours_[node]) {
      queue_.erase({neighbours_[other].size(), other});
      neighbours_[other].erase(node);
      queue_.insert({neighbours_[other].size(), other});
    }
    neighbours_[node].clear();
  }

  void reduce_one(std::size_t node, const std::pair<std::size_t, Matrix>& edge) {
    std::vector<double>& target = costs_[edge.first];
    for (std::size_t b = 0; b < target.size(); ++b) {
      double best = infinite;
      for (std::size_t a = 0; a < costs_[node].size(); ++a)
        best = std::min(best, costs_[node][a] + edge.second[a * target.size() + b]);
      target[b] += best;
    }
  }

  void reduce_two(std::size_t node, const std::pair<std::size_t, Matrix>& first,
                  const std::pair<std::size_t, Matrix>& second) {
    const std::size_t rows = costs_[first.first].size(), columns = costs_[second.first].size();
    Matrix joint(rows * columns, infinite);
    for (std::size_t a = 0; a < costs_[node].size(); ++a)
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          const double cost = costs_[node][a] + first.second[a * rows + r] + second.second[a * columns + c];
          joint[r * columns + c] = std::min(joint[r * columns + c], cost);
        }
    connect(first.first, second.first, joint);
  }

  double best_answer(std::size_t node, std::size_t alternative, std::size_t other,
                     const Matrix& matrix) const {
    const std::size_t rows = costs_[node].size(), columns = costs_[other].size();
    double best = infinite;
    for (std::size_t b = 0; b < columns; ++b) {
      const double edge = node < other ? matrix[alternative * columns + b] : matrix[b * rows + alternative];
      best = std::min(best, costs_[other][b] + edge);
    }
    return best;
  }

  std::size_t answer(const Removed& removed, const std::vector<std::size_t>& choice) const {
    const std::vector<double>& own = costs_[removed.node];
    std::size_t best = 0;
    double best_cost = infinite;
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
  std::vector<std::shared_ptr<const Removed>> order_;   ///< Shared with the reductions that began alike.
  double cost_ = 0;
};

/// Tries alternatives of the nodes that have to be fixed, the likeliest first, and keeps the best choice.
class Search {
public:
  explicit Search(std::size_t nodes)
      : enough_(std::max<std::size_t>(1, max_tries / std::max<std::size_t>(1, nodes))) {}

  void run(Reduction state) {
    const auto node = state.next();
    if (!node) return keep(state);
    const std::vector<std::size_t> alternatives = state.alternatives(*node);
    if (alternatives.empty()) ++tries_;
    for (const std::size_t alternative : alternatives) {
      if (state.cost() >= best_cost_ || tries_ >= (choice ? enough_ : max_tries)) return;
      Reduction next = state;
      next.fix(*node, alternative);
      run(std::move(next));
    }
  }

  std::optional<std::vector<std::size_t>> choice;

private:
  static constexpr std::size_t max_tries = 4096; ///< Of choices; far fewer for large problems.

  void keep(const Reduction& state) {
    ++tries_;
    if (choice && state.cost() >= best_cost_) return;
    choice = state.choice();
    best_cost_ = state.cost();
  }

  std::size_t enough_, tries_ = 0;
  double best_cost_ = infinite;
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

std::vector<std::size_t> assign(const AssignmentProblem& problem, std::span<const std::size_t> otherwise) {
  Search search(problem.nodes.size());
  search.run(Reduction(problem));
  std::vector<std::size_t> choice = search.choice.value_or(std::vector<std::size_t>(problem.nodes.size(), 0));
  improve(problem, choice);
  if (otherwise.empty() || std::isfinite(cost_of(problem, choice))) return choice;
  choice.assign(otherwise.begin(), otherwise.end());
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
