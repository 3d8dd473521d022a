#include "engine/assign.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace lanner {
namespace {

/// The best total over all choices.
double brute_force(const AssignmentProblem& problem) {
  std::vector<std::size_t> choice(problem.nodes.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    best = std::min(best, cost_of(problem, choice));
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == problem.nodes[i].size()) choice[i++] = 0;
    if (i == choice.size()) return best;
  }
}

AssignmentProblem random_problem(std::mt19937& random, std::size_t nodes, bool tree) {
  std::uniform_real_distribution<double> cost(0, 10);
  AssignmentProblem problem;
  for (std::size_t i = 0; i < nodes; ++i) {
    problem.nodes.emplace_back(1 + random() % 3);
    for (double& c : problem.nodes.back()) c = cost(random);
  }
  const auto connect = [&](std::size_t a, std::size_t b) {
    std::vector<double> costs(problem.nodes[a].size() * problem.nodes[b].size());
    for (double& c : costs) c = cost(random);
    problem.edges.push_back({a, b, std::move(costs)});
  };
  for (std::size_t i = 1; i < nodes; ++i) {
    const std::size_t other = random() % i;
    if (random() % 2)
      connect(i, other);
    else
      connect(other, i);
    if (!tree && i > 1) connect((other + 1) % i, i);
  }
  return problem;
}

TEST(Assign, TreesAreSolvedExactly) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const AssignmentProblem problem = random_problem(random, 2 + random() % 7, true);
    EXPECT_NEAR(cost_of(problem, assign(problem)), brute_force(problem), 1e-9) << round;
  }
}

TEST(Assign, DenserGraphsComeClose) {
  std::mt19937 random(2);
  double found = 0, best = 0;
  for (int round = 0; round < 200; ++round) {
    const AssignmentProblem problem = random_problem(random, 3 + random() % 6, false);
    found += cost_of(problem, assign(problem));
    best += brute_force(problem);
  }
  EXPECT_LE(found, best * 1.05);
}

TEST(Assign, InfiniteAlternativesAreAvoided) {
  const double never = std::numeric_limits<double>::infinity();
  const AssignmentProblem problem{{{1, 5}, {1, 1}}, {{0, 1, {never, never, 0, never}}}};
  EXPECT_EQ(assign(problem), (std::vector<std::size_t>{1, 0}));
}

TEST(Assign, NothingToChoose) {
  EXPECT_TRUE(assign({}).empty());
}

} // namespace
} // namespace lanner
