#include "lower/choose/assign.h"

#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace lanner {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The best total over all choices.
double brute_force(const AssignmentProblem& problem) {
  std::vector<std::size_t> choice(problem.nodes.size(), 0);
  double best = never;
  for (;;) {
    best = std::min(best, cost_of(problem, choice));
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == problem.nodes[i].size()) choice[i++] = 0;
    if (i == choice.size()) return best;
  }
}

/// Draws problems of up to three alternatives per node, with costs up to 10, some infinite.
class Problems {
public:
  explicit Problems(std::uint32_t seed, double infinite = 0) : random_(seed), infinite_(infinite) {}

  AssignmentProblem nodes(std::size_t count) {
    AssignmentProblem problem;
    for (std::size_t i = 0; i < count; ++i) problem.nodes.push_back(costs(1 + random_() % 3));
    return problem;
  }
  void connect(AssignmentProblem& problem, std::size_t a, std::size_t b) {
    if (random_() % 2) std::swap(a, b);
    problem.edges.push_back({a, b, costs(problem.nodes[a].size() * problem.nodes[b].size())});
  }
  std::size_t below(std::size_t end) { return random_() % end; }

  AssignmentProblem tree(std::size_t count) {
    AssignmentProblem problem = nodes(count);
    for (std::size_t i = 1; i < count; ++i) connect(problem, i, below(i));
    return problem;
  }
  /// Series-parallel graphs, which removing nodes of degree 1 and 2 reduces to nothing. With parallel edges
  /// and self-loops.
  AssignmentProblem series_parallel(std::size_t count) {
    AssignmentProblem problem = tree(2);
    for (std::size_t i = 2; i < count; ++i) {
      const auto [from, to, matrix] = problem.edges[below(problem.edges.size())];
      problem.nodes.push_back(costs(1 + random_() % 3));
      connect(problem, i, from);
      if (to != from && below(4) > 0) connect(problem, i, to);
      if (below(4) == 0) connect(problem, i, from);
      if (below(6) == 0) connect(problem, i, i);
    }
    return problem;
  }
  AssignmentProblem dense(std::size_t count) {
    AssignmentProblem problem = nodes(count);
    for (std::size_t i = 1; i < count; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (below(5) > 0) connect(problem, i, j);
    return problem;
  }

private:
  std::vector<double> costs(std::size_t count) {
    std::uniform_real_distribution<double> cost(0, 10), part(0, 1);
    std::vector<double> list(count);
    for (double& c : list) c = part(random_) < infinite_ ? never : cost(random_);
    return list;
  }

  std::mt19937 random_;
  double infinite_;
};

void expect_best(const AssignmentProblem& problem) {
  const double found = cost_of(problem, assign(problem)), best = brute_force(problem);
  if (best == never)
    EXPECT_EQ(found, never);
  else
    EXPECT_NEAR(found, best, 1e-9);
}

TEST(Assign, TreesAreSolvedExactly) {
  for (const double infinite : {0.0, 0.2}) {
    Problems problems(1, infinite);
    for (int round = 0; round < 200; ++round) {
      SCOPED_TRACE(round);
      expect_best(problems.tree(2 + problems.below(7)));
    }
  }
}

TEST(Assign, SeriesAndParallelGraphsAreSolvedExactly) {
  for (const double infinite : {0.0, 0.2}) {
    Problems problems(3, infinite);
    for (int round = 0; round < 300; ++round) {
      SCOPED_TRACE(round);
      expect_best(problems.series_parallel(3 + problems.below(6)));
    }
  }
}

TEST(Assign, DenseGraphsAreSolvedExactlyWhereSmall) {
  for (const double infinite : {0.0, 0.1, 0.3}) {
    Problems problems(2, infinite);
    for (int round = 0; round < 300; ++round) {
      SCOPED_TRACE(round);
      expect_best(problems.dense(4 + problems.below(5)));
    }
  }
}

// Too many choices for brute force: a finite one is found quickly.
TEST(Assign, LargeDenseGraphsAreCovered) {
  Problems problems(6, 0.1);
  for (int round = 0; round < 20; ++round) {
    AssignmentProblem problem = problems.dense(40);
    for (auto& [from, to, costs] : problem.edges) costs[0] = 1; // the first alternatives are compatible
    for (auto& costs : problem.nodes) costs[0] = 1;
    EXPECT_LT(cost_of(problem, assign(problem)), never) << round;
  }
}

TEST(Assign, InfiniteAlternativesAreAvoided) {
  const AssignmentProblem problem{{{1, 5}, {1, 1}}, {{0, 1, {never, never, 0, never}}}};
  EXPECT_EQ(assign(problem), (std::vector<std::size_t>{1, 0}));
}

TEST(Assign, WithoutAFiniteChoiceTheGivenOneIsKept) {
  const AssignmentProblem problem{{{never, never, never}, {1, 1}}, {{0, 1, {0, 0, 0, 0, 0, 0}}}};
  EXPECT_EQ(assign(problem, std::vector<std::size_t>{2, 1}), (std::vector<std::size_t>{2, 1}));
}

TEST(Assign, EqualCostsChooseTheFirst) {
  const AssignmentProblem problem{{{2, 2}, {1, 1, 1}}, {{1, 0, {0, 0, 0, 0, 0, 0}}}};
  EXPECT_EQ(assign(problem), (std::vector<std::size_t>{0, 0}));
}

TEST(Assign, EdgesMayHaveEitherDirection) {
  Problems problems(5);
  for (int round = 0; round < 50; ++round) {
    const AssignmentProblem problem = problems.dense(6);
    AssignmentProblem turned = problem;
    for (auto& [from, to, costs] : turned.edges) {
      const std::size_t rows = problem.nodes[from].size(), columns = problem.nodes[to].size();
      const std::vector<double> before = costs;
      for (std::size_t a = 0; a < rows; ++a)
        for (std::size_t b = 0; b < columns; ++b) costs[b * rows + a] = before[a * columns + b];
      std::swap(from, to);
    }
    EXPECT_EQ(assign(turned), assign(problem)) << round;
  }
}

TEST(Assign, EmptyProblemHasAnEmptyChoice) {
  EXPECT_TRUE(assign({}).empty());
}

} // namespace
} // namespace lanner
