#include "backends/contraction/task_shares.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lanner {
namespace {

constexpr std::int64_t distance = 64;

std::vector<std::int64_t> taken_by(const TaskShares& shares, std::int64_t thread) {
  std::vector<std::int64_t> tasks;
  while (const auto task = shares.take(thread)) tasks.push_back(*task);
  return tasks;
}

TEST(TaskShares, AThreadTakesItsOwnTasksFirstAndThenThoseOfOthers) {
  alignas(64) std::byte counters[3 * distance];
  const TaskShares shares(3, 8, counters, distance);
  EXPECT_EQ(shares.take(0), 0);
  EXPECT_EQ(taken_by(shares, 1), (std::vector<std::int64_t>{2, 3, 4, 5, 6, 7, 1}));
  EXPECT_EQ(shares.take(0), std::nullopt);
  EXPECT_EQ(shares.take(2), std::nullopt);
}

TEST(TaskShares, FewerTasksThanThreadsAndNoneAreTakenOnce) {
  alignas(64) std::byte counters[4 * distance];
  EXPECT_EQ(taken_by(TaskShares(4, 0, counters, distance), 2), std::vector<std::int64_t>{});
  EXPECT_EQ(taken_by(TaskShares(4, 1, counters, distance), 2), std::vector<std::int64_t>{0});
}

TEST(TaskShares, ThreadsTakeEachTaskOnce) {
  constexpr std::int64_t threads = 4, tasks = 1001;
  alignas(64) std::byte counters[threads * distance];
  const TaskShares shares(threads, tasks, counters, distance);
  std::vector<std::vector<std::int64_t>> taken(threads);
  std::vector<std::jthread> running;
  for (std::int64_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] { taken[static_cast<std::size_t>(i)] = taken_by(shares, i); });
  running.clear();
  std::vector<int> times(tasks);
  for (const auto& list : taken)
    for (const std::int64_t task : list) ++times[static_cast<std::size_t>(task)];
  EXPECT_EQ(times, std::vector<int>(tasks, 1));
}

} // namespace
} // namespace lanner
