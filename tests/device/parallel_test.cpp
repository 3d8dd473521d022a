#include "base/check.h"
#include "device/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "expect_error.h"

namespace lanner {
namespace {

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (const std::int64_t count : {0, 1, 7, 64, 1000}) {
    for (const std::int64_t grain : {0, 1, 16, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
      parallel_for(3, 10, 10 + count, grain, [&](std::int64_t first, std::int64_t last) {
        EXPECT_LT(first, last);
        EXPECT_EQ((first - 10) % std::max<std::int64_t>(grain, 1), 0);
        for (std::int64_t i = first; i < last; ++i) ++hits[static_cast<std::size_t>(i - 10)];
      });
      for (const auto& hit : hits) ASSERT_EQ(hit, 1);
    }
  }
}

TEST(ParallelFor, UsesSeveralThreads) {
  std::mutex mutex;
  std::vector<std::int64_t> firsts;
  parallel_for(4, 0, 10, 1, [&](std::int64_t first, std::int64_t) {
    std::lock_guard lock(mutex);
    firsts.push_back(first);
  });
  std::sort(firsts.begin(), firsts.end());
  EXPECT_EQ(firsts, (std::vector<std::int64_t>{0, 3, 6, 8}));
}

// So that a thread that loses its core delays the caller only by one piece of its share.
TEST(ParallelFor, CutsLargeSharesIntoPieces) {
  for (const auto& [count, pieces] :
       {std::pair{100, 2}, std::pair{130, 4}, std::pair{1000, 8}, std::pair{9000, 8}}) {
    std::atomic<int> calls{0};
    std::atomic<std::int64_t> covered{0};
    parallel_for(2, 0, count, 1, [&](std::int64_t first, std::int64_t last) {
      ++calls;
      covered += last - first;
    });
    EXPECT_EQ(calls, pieces) << count;
    EXPECT_EQ(covered, count);
  }
}

TEST(ParallelFor, RethrowsAfterTheOthersEnd) {
  std::atomic<int> ended{0};
  LANNER_EXPECT_ERROR(parallel_for(4, 0, 4, 1,
                                   [&](std::int64_t first, std::int64_t) {
                                     if (first == 2) fail(ErrorCode::bad_data, "row {}", first);
                                     ++ended;
                                   }),
                      ErrorCode::bad_data, "row 2");
  EXPECT_EQ(ended, 3);
}

TEST(ParallelFor, DoesNotNest) {
  std::atomic<int> ranges{0};
  parallel_for(2, 0, 2, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(2, 0, 100, 1, [&](std::int64_t first, std::int64_t last) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      EXPECT_EQ(last - first, 100);
      ++ranges;
    });
  });
  EXPECT_EQ(ranges, 2);
}

TEST(ParallelFor, ForkedChildGetsItsOwnThreads) {
  parallel_for(2, 0, 2, 1, [](std::int64_t, std::int64_t) {});
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> calls{0};
    for (int i = 0; i < 3; ++i) parallel_for(2, 0, 100, 1, [&](std::int64_t, std::int64_t) { ++calls; });
    ::_exit(calls == 6 ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

} // namespace
} // namespace lanner
