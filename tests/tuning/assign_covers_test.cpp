// Assignment problems of covers of deep graphs: each node is alone or in one of many overlapping groups,
// whose members all take the same alternative or none does.

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include <lanner/limits.h>

#include "base/limits/account.h"
#include "expect_error.h"
#include "lower/choose/assign.h"

namespace lanner {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// By node: the indices of the earlier nodes that it reads.
using Reads = std::vector<std::vector<std::size_t>>;

void add(Reads& reads, const std::set<std::size_t>& from) {
  reads.emplace_back(from.begin(), from.end());
}

Reads chain(std::size_t count) {
  Reads reads{{}};
  while (reads.size() < count) add(reads, {reads.size() - 1});
  return reads;
}

/// A ladder: each node reads both nodes of the previous rung.
Reads ladder(std::size_t count) {
  Reads reads{{}, {}};
  for (std::size_t n = 2; n + 2 <= count; n += 2) {
    add(reads, {n - 2, n - 1});
    add(reads, {n - 2, n - 1});
  }
  return reads;
}

/// A message-passing network: in each round both ends of the edges are gathered by one index, combined,
/// scattered back by the same index, and an earlier state is added.
Reads messages(std::size_t count) {
  std::mt19937 random(1);
  Reads reads{{}, {}};
  std::vector<std::size_t> states{1};
  for (std::size_t n = 2; n + 9 <= count; n += 9) {
    const std::size_t state = states.back();
    add(reads, {0, state});
    add(reads, {0, state});
    add(reads, {n, n + 1});
    add(reads, {n + 2, states.front()});
    add(reads, {n + 3});
    add(reads, {n, n + 4});
    add(reads, {0, n + 5});
    add(reads, {n + 6, state});
    add(reads, {n + 7, states[random() % states.size()]});
    states.push_back(n + 8);
  }
  return reads;
}

class Covers {
public:
  explicit Covers(Reads reads) : reads_(std::move(reads)), lists_(reads_.size()) {
    for (std::size_t n = 0; n < reads_.size(); ++n) propose({n});
    for (std::size_t n = 0; n < reads_.size(); ++n) grow(n);
  }

  AssignmentProblem problem() const {
    AssignmentProblem problem;
    for (std::size_t n = 0; n < reads_.size(); ++n) {
      problem.nodes.emplace_back();
      for (const auto& [p, a] : lists_[n])
        problem.nodes.back().push_back(groups_[p].members.back() == n ? groups_[p].costs[a] : 0);
      for (const std::size_t from : reads_[n]) problem.edges.push_back(edge(from, n));
    }
    return problem;
  }
  /// The first alternative of each node.
  std::vector<std::size_t> each_alone() const { return std::vector<std::size_t>(reads_.size(), 0); }

private:
  static constexpr std::size_t storages = 3, largest = 6;

  struct Group {
    std::vector<std::size_t> members;
    std::vector<double> costs; ///< By storage.
  };
  struct Taken {
    std::size_t group, storage;
    friend bool operator==(const Taken&, const Taken&) = default;
  };

  void propose(const std::vector<std::size_t>& members) {
    std::uniform_real_distribution<double> cost(0.5, 1.5);
    Group group{members, {}};
    for (std::size_t a = 0; a < storages; ++a) {
      group.costs.push_back(cost(random_) * (0.4 + 0.6 * static_cast<double>(members.size())));
      for (const std::size_t n : members) lists_[n].push_back({groups_.size(), a});
    }
    groups_.push_back(std::move(group));
  }

  /// Groups of `root` with its transitive inputs, one of each size.
  void grow(std::size_t root) {
    std::vector<std::size_t> found{root};
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const std::size_t from : reads_[found[i]]) {
        if (found.size() == largest || from < 2 || std::ranges::count(found, from)) continue;
        found.push_back(from);
        std::vector<std::size_t> members = found;
        std::ranges::sort(members);
        propose(members);
      }
  }

  AssignmentProblem::Edge edge(std::size_t from, std::size_t to) const {
    AssignmentProblem::Edge edge{from, to, {}};
    for (const Taken& a : lists_[from])
      for (const Taken& b : lists_[to]) edge.costs.push_back(cost(from, to, a, b));
    return edge;
  }

  double cost(std::size_t from, std::size_t to, const Taken& a, const Taken& b) const {
    const auto holds = [&](const Taken& one, std::size_t n) {
      return std::ranges::count(groups_[one.group].members, n) > 0;
    };
    if (a.group == b.group) return a == b ? 0 : never;
    if (holds(a, to) || holds(b, from)) return never;
    return a.storage == b.storage ? 0 : 0.3;
  }

  std::mt19937 random_{2};
  Reads reads_;
  std::vector<Group> groups_;
  std::vector<std::vector<Taken>> lists_; ///< By node.
};

std::uint64_t costs_in(const AssignmentProblem& problem) {
  std::uint64_t count = 0;
  for (const auto& node : problem.nodes) count += node.size();
  for (const auto& edge : problem.edges) count += edge.costs.size();
  return count;
}

class AssignCovers : public testing::TestWithParam<std::tuple<Reads (*)(std::size_t), std::size_t>> {};

// Each cost is read a few times, however deep the graph, and few choices are tried: none of them ends in
// contradicting groups.
TEST_P(AssignCovers, AreFoundWithFewTries) {
  const auto [reads, count] = GetParam();
  const Covers covers(reads(count));
  const AssignmentProblem problem = covers.problem();
  AssignmentEffort effort{.most = 3 * costs_in(problem)};
  const double cost = cost_of(problem, assign(problem, {}, &effort));
  EXPECT_LT(cost, 0.9 * cost_of(problem, covers.each_alone()));
  EXPECT_LT(effort.looked_at, 6 * costs_in(problem));
  EXPECT_GE(effort.tries, 1);
  EXPECT_LE(effort.tries, 1 + 4096 / count);
}

TEST_P(AssignCovers, StayWithinTheEffort) {
  const auto [reads, count] = GetParam();
  const Covers covers(reads(count));
  const AssignmentProblem problem = covers.problem();
  AssignmentEffort none{.most = 0};
  EXPECT_LE(cost_of(problem, assign(problem, covers.each_alone(), &none)),
            cost_of(problem, covers.each_alone()));
  EXPECT_LT(none.looked_at, 6 * costs_in(problem));
}

INSTANTIATE_TEST_SUITE_P(Deep, AssignCovers,
                         testing::Combine(testing::Values(chain, ladder, messages),
                                          testing::Values(std::size_t{100}, std::size_t{500},
                                                          std::size_t{2000})));

TEST(AssignEffort, EndsWhenCancelledOrLate) {
  const AssignmentProblem problem = Covers(messages(500)).problem();
  AssignmentEffort cancelled{.cancel = CancelToken::create()};
  cancelled.cancel.cancel();
  LANNER_EXPECT_ERROR(assign(problem, {}, &cancelled), ErrorCode::cancelled, "cancelled");
  Limits limits;
  limits.seconds = 1e-9;
  const DeadlineScope deadline(limits);
  LANNER_EXPECT_ERROR(assign(problem), ErrorCode::limit_exceeded, "seconds");
}

} // namespace
} // namespace lanner
