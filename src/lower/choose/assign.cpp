#include "lower/choose/assign.h"

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

using Matrix = std::vector<double>;

/// An edge's cost matrix as seen from one of its nodes; both nodes share the matrix.
struct EdgeEnd {
  std::shared_ptr<const Matrix> costs;
  bool by_row = false; ///< The node's own alternatives are the rows.

  /// Offset of (own, 0) in the matrix, and the distance from there to (own, 1).
  std::size_t start(std::size_t own, std::size_t others) const { return by_row ? own * others : own; }
  std::size_t step(std::size_t owns) const { return by_row ? 1 : owns; }
};

class Counter {
public:
  explicit Counter(AssignmentEffort& effort) : effort_(effort) {}
  void count(std::uint64_t costs) {
    constexpr std::uint64_t between = 1'000'000;
    effort_.looked_at += costs;
    if (effort_.looked_at - checked_ < between) return;
    checked_ = effort_.looked_at;
    effort_.cancel.check();
  }
  AssignmentEffort& effort() { return effort_; }

private:
  AssignmentEffort& effort_;
  std::uint64_t checked_ = 0;
};

/// Removes nodes until none is left. Nodes of degree up to 2 are removed exactly: their alternative follows
/// from their neighbours'. Of the others the caller fixes one at a time. An alternative that is incompatible
/// with all alternatives of some neighbour has infinite cost.
class Reduction {
public:
  /// `problem` must outlive it.
  Reduction(const AssignmentProblem& problem, Counter& counter)
      : counter_(&counter), costs_(problem.nodes), neighbours_(problem.nodes.size()) {
    for (const auto& edge : problem.edges) add(edge.from, edge.to, {std::shared_ptr<void>(), &edge.costs});
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      queue_.insert({neighbours_[i].size(), i});
      narrowed_.insert(i);
    }
  }

  /// The next node to fix; nothing once none is left, or no choice is possible.
  std::optional<std::size_t> next() {
    for (narrow(); possible_ && !queue_.empty(); narrow()) {
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

  /// The node's alternatives of finite cost, sorted by cost with each neighbour's best answer.
  std::vector<std::size_t> alternatives(std::size_t node) const {
    std::vector<std::pair<double, std::size_t>> expected;
    for (std::size_t a = 0; a < costs_[node].size(); ++a) {
      double cost = costs_[node][a];
      for (auto it = neighbours_[node].begin(); it != neighbours_[node].end() && cost < infinite; ++it)
        cost += best_answer(node, a, it->first, it->second);
      if (cost < infinite) expected.emplace_back(cost, a);
    }
    std::ranges::sort(expected);
    std::vector<std::size_t> list;
    for (const auto& [cost, alternative] : expected) list.push_back(alternative);
    return list;
  }

  void fix(std::size_t node, std::size_t alternative) {
    take_off(node);
    for (const auto& [other, edge] : order_.back()->edges) {
      std::vector<double>& target = costs_[other];
      std::size_t at = edge.start(alternative, target.size());
      counter_->count(target.size());
      for (std::size_t b = 0; b < target.size(); ++b, at += edge.step(costs_[node].size()))
        raise(other, target[b], (*edge.costs)[at]);
    }
    cost_ += costs_[node][alternative];
    for (std::size_t a = 0; a < costs_[node].size(); ++a)
      if (a != alternative) costs_[node][a] = infinite;
  }

  /// Cost of the nodes settled so far; of the whole choice once none is left.
  double cost() const { return possible_ ? cost_ : infinite; }
  bool settled() const { return queue_.empty(); }
  /// Number of costs that a copy duplicates; matrices are shared.
  std::uint64_t size() const {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < costs_.size(); ++i)
      size += costs_[i].size() + per_edge * (1 + neighbours_[i].size());
    return size;
  }

  std::vector<std::size_t> choice() const {
    std::vector<std::size_t> choice(costs_.size(), 0);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) choice[(*it)->node] = answer(**it, choice);
    return choice;
  }

private:
  static constexpr std::uint64_t per_edge = 8; ///< Size of an edge's entry, in costs.

  struct Removed {
    std::size_t node;
    std::vector<std::pair<std::size_t, EdgeEnd>> edges; ///< As this node sees them.
  };

  /// Lowest degree first; ties by number, so results never depend on addresses.
  std::size_t pick() const { return queue_.begin()->second; }

  void raise(std::size_t node, double& cost, double by) {
    if (cost < infinite && by == infinite) narrowed_.insert(node);
    cost += by;
  }

  /// Arc consistency: removes alternatives incompatible with a whole neighbour, until none is.
  void narrow() {
    while (possible_ && !narrowed_.empty()) {
      const std::size_t node = *narrowed_.begin();
      narrowed_.erase(narrowed_.begin());
      possible_ = std::ranges::any_of(costs_[node], [](double cost) { return cost < infinite; });
      for (const auto& [other, edge] : neighbours_[node]) support(other, node, neighbours_[other].at(node));
    }
  }

  /// Removes the node's alternatives that are incompatible with all of `other`'s, its neighbour.
  void support(std::size_t node, std::size_t other, const EdgeEnd& edge) {
    std::vector<double>& own = costs_[node];
    const std::vector<double>& others = costs_[other];
    const std::size_t step = edge.step(own.size());
    for (std::size_t a = 0; a < own.size(); ++a) {
      if (own[a] == infinite) continue;
      std::size_t b = 0, at = edge.start(a, others.size());
      while (b < others.size() && (others[b] == infinite || (*edge.costs)[at] == infinite)) ++b, at += step;
      counter_->count(b + 1);
      if (b == others.size()) raise(node, own[a], infinite);
    }
  }

  void add(std::size_t from, std::size_t to, std::shared_ptr<const Matrix> costs) {
    counter_->count(costs->size());
    if (from == to) {
      for (std::size_t a = 0; a < costs_[from].size(); ++a)
        costs_[from][a] += (*costs)[a * costs_[from].size() + a];
      return;
    }
    if (const auto found = neighbours_[from].find(to); found != neighbours_[from].end())
      costs =
          std::make_shared<const Matrix>(sum(*costs, found->second, costs_[from].size(), costs_[to].size()));
    neighbours_[from][to] = {costs, true};
    neighbours_[to][from] = {std::move(costs), false};
  }

  /// `costs` is by rows, `edge` as the node of the rows sees it.
  static Matrix sum(Matrix costs, const EdgeEnd& edge, std::size_t rows, std::size_t columns) {
    for (std::size_t a = 0; a < rows; ++a) {
      std::size_t at = edge.start(a, columns);
      for (std::size_t b = 0; b < columns; ++b, at += edge.step(rows))
        costs[a * columns + b] += (*edge.costs)[at];
    }
    return costs;
  }

  void connect(std::size_t a, std::size_t b, Matrix costs) {
    queue_.erase({neighbours_[a].size(), a});
    queue_.erase({neighbours_[b].size(), b});
    add(a, b, std::make_shared<const Matrix>(std::move(costs)));
    queue_.insert({neighbours_[a].size(), a});
    queue_.insert({neighbours_[b].size(), b});
    support(a, b, neighbours_[a].at(b));
    support(b, a, neighbours_[b].at(a));
  }

  void take_off(std::size_t node) {
    queue_.erase({neighbours_[node].size(), node});
    Removed removed{node, {}};
    for (auto& [other, edge] : neighbours_[node]) {
      queue_.erase({neighbours_[other].size(), other});
      neighbours_[other].erase(node);
      queue_.insert({neighbours_[other].size(), other});
      removed.edges.emplace_back(other, std::move(edge));
    }
    neighbours_[node].clear();
    order_.push_back(std::make_shared<const Removed>(std::move(removed)));
  }

  void reduce_one(std::size_t node, const std::pair<std::size_t, EdgeEnd>& edge) {
    std::vector<double>& target = costs_[edge.first];
    std::vector<double> best(target.size(), infinite);
    for (const auto& [a, b, cost] : finite(node, edge)) best[b] = std::min(best[b], costs_[node][a] + cost);
    for (std::size_t b = 0; b < target.size(); ++b) {
      if (best[b] == infinite)
        raise(edge.first, target[b], infinite);
      else
        target[b] += best[b];
    }
  }

  /// A pair of compatible alternatives.
  struct Pair {
    std::size_t own, other;
    double cost;
  };

  /// Compatible pairs in order of the node's own alternatives; for groups most pairs are not.
  std::vector<Pair> finite(std::size_t node, const std::pair<std::size_t, EdgeEnd>& neighbour) const {
    const auto& [other, edge] = neighbour;
    const std::vector<double>&own = costs_[node], &others = costs_[other];
    std::vector<Pair> pairs;
    for (std::size_t a = 0; a < own.size(); ++a) {
      if (own[a] == infinite) continue;
      std::size_t at = edge.start(a, others.size());
      counter_->count(others.size());
      for (std::size_t b = 0; b < others.size(); ++b, at += edge.step(own.size()))
        if (others[b] < infinite && (*edge.costs)[at] < infinite) pairs.push_back({a, b, (*edge.costs)[at]});
    }
    return pairs;
  }

  void reduce_two(std::size_t node, const std::pair<std::size_t, EdgeEnd>& first,
                  const std::pair<std::size_t, EdgeEnd>& second) {
    const std::size_t columns = costs_[second.first].size();
    Matrix joint(costs_[first.first].size() * columns, infinite);
    const std::vector<Pair> rows = finite(node, first), others = finite(node, second);
    auto begin = others.begin();
    for (const Pair& row : rows) {
      while (begin != others.end() && begin->own < row.own) ++begin;
      auto it = begin;
      for (; it != others.end() && it->own == row.own; ++it) {
        double& best = joint[row.other * columns + it->other];
        best = std::min(best, costs_[node][row.own] + row.cost + it->cost);
      }
      counter_->count(static_cast<std::uint64_t>(it - begin));
    }
    connect(first.first, second.first, std::move(joint));
  }

  double best_answer(std::size_t node, std::size_t alternative, std::size_t other,
                     const EdgeEnd& edge) const {
    const std::vector<double>& others = costs_[other];
    double best = infinite;
    std::size_t at = edge.start(alternative, others.size());
    counter_->count(others.size());
    for (std::size_t b = 0; b < others.size(); ++b, at += edge.step(costs_[node].size()))
      best = std::min(best, others[b] + (*edge.costs)[at]);
    return best;
  }

  std::size_t answer(const Removed& removed, const std::vector<std::size_t>& choice) const {
    const std::vector<double>& own = costs_[removed.node];
    std::size_t best = 0;
    double best_cost = infinite;
    for (std::size_t a = 0; a < own.size(); ++a) {
      double cost = own[a];
      for (const auto& [other, edge] : removed.edges)
        cost += (*edge.costs)[edge.start(a, costs_[other].size()) + choice[other] * edge.step(own.size())];
      if (cost < best_cost) best = a, best_cost = cost;
    }
    return best;
  }

  Counter* counter_;
  std::vector<std::vector<double>> costs_;
  std::vector<std::map<std::size_t, EdgeEnd>> neighbours_;
  std::set<std::pair<std::size_t, std::size_t>> queue_; ///< (degree, node) of nodes not yet removed.
  std::set<std::size_t> narrowed_;                      ///< Nodes whose neighbours were not visited since.
  std::vector<std::shared_ptr<const Removed>> order_;   ///< Shared with the reductions that began alike.
  double cost_ = 0;
  bool possible_ = true;
};

/// Branch and bound over the nodes that have to be fixed, most promising alternative first.
class Search {
public:
  Search(std::size_t nodes, std::uint64_t size, Counter& counter)
      : counter_(counter), size_(size),
        enough_(std::max<std::size_t>(1, max_tries / std::max<std::size_t>(1, nodes))) {}

  void run(Reduction state) {
    while (const auto node = state.next()) {
      const std::vector<std::size_t> alternatives = state.alternatives(*node);
      if (alternatives.empty()) break;
      if (is_enough() || state.cost() >= best_cost_) return;
      // No backtracking to states beyond the memory bound.
      for (std::size_t i = 0; i + 1 < alternatives.size() && held_ + size_ <= max_held; ++i) {
        Reduction next = state;
        counter_.count(size_);
        next.fix(*node, alternatives[i]);
        held_ += size_;
        run(std::move(next));
        held_ -= size_;
        if (is_enough() || state.cost() >= best_cost_) return;
      }
      state.fix(*node, held_ + size_ <= max_held ? alternatives.back() : alternatives.front());
    }
    ++counter_.effort().tries;
    if (state.settled()) keep(state);
  }

  std::optional<std::vector<std::size_t>> choice;

private:
  static constexpr std::size_t max_tries = 4096;       ///< Of choices; far fewer for large problems.
  static constexpr std::uint64_t max_held = 4'000'000; ///< Costs held in states kept for backtracking.

  void keep(const Reduction& state) {
    if (state.cost() == infinite || (choice && state.cost() >= best_cost_)) return;
    choice = state.choice();
    best_cost_ = state.cost();
  }

  bool is_enough() {
    const AssignmentEffort& effort = counter_.effort();
    constexpr std::uint64_t for_the_first = 4;
    return effort.tries >= (choice ? enough_ : max_tries) ||
           effort.looked_at >= effort.most * (choice ? 1 : for_the_first);
  }

  Counter& counter_;
  const std::uint64_t size_; ///< Of one state.
  const std::size_t enough_;
  std::uint64_t held_ = 0;
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

std::vector<std::size_t> assign(const AssignmentProblem& problem, std::span<const std::size_t> otherwise,
                                AssignmentEffort* effort) {
  AssignmentEffort own;
  Counter counter(effort ? *effort : own);
  Reduction whole(problem, counter);
  Search search(problem.nodes.size(), whole.size(), counter);
  search.run(std::move(whole));
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
