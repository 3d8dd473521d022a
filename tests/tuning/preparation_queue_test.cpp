#include "lower/measure/preparation_queue.h"

#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lowering/tuner_bench.h"

namespace lanner::test {
namespace {

constexpr const char* chain = "graph @g(%x: f32[2, 3]) -> (%y) {\n"
                              "  %y = relu(%x)\n"
                              "}\n";
constexpr const char* table = "// relu as one: row -> row = 7\n"
                              "// relu as two: row -> row = 8\n";

PreparationQueue::Task task(const TunerBench& bench, std::string_view kernel, std::string name) {
  return {&bench.node(), &bench.backend, bench.tactic(kernel), bench.target, std::move(name)};
}

TEST(PreparationQueue, kernels_and_data_are_taken_once) {
  TunerBench bench(chain, "fast", table);
  PreparationQueue queue(bench.constants, bench.control, 2);
  queue.add_data(task(bench, "one", "data"));
  queue.add_kernel(task(bench, "one", "first"));
  queue.add_kernel(task(bench, "two", "second"));
  // Taken at once: made by a worker, or left to the caller who comes first.
  static_cast<void>(queue.take_kernel("second"));
  EXPECT_EQ(queue.take_kernel("second"), nullptr);
  static_cast<void>(queue.take_data("data"));
  EXPECT_EQ(queue.take_data("data"), nullptr);
  EXPECT_EQ(queue.take_kernel("never added"), nullptr);
}

TEST(PreparationQueue, what_was_begun_is_waited_for) {
  TunerBench bench(chain, "fast", table);
  for (int run = 0; run < 50; ++run) {
    PreparationQueue queue(bench.constants, bench.control, 1);
    for (int i = 0; i < 8; ++i)
      queue.add_kernel(task(bench, i % 2 == 0 ? "one" : "two", fmt::format("{}", i)));
    // The one worker makes them in order: once the last is there, all others are.
    while (!queue.take_kernel("7")) {
      queue.add_kernel(task(bench, "two", "7"));
      std::this_thread::yield();
    }
    for (int i = 0; i < 7; ++i) EXPECT_NE(queue.take_kernel(fmt::format("{}", i)), nullptr) << i;
  }
}

TEST(PreparationQueue, data_is_made_for_as_many_nodes_as_there_are_threads_and_more_once_it_is_taken) {
  TunerBench bench(chain, "fast", table);
  PreparationQueue queue(bench.constants, bench.control, 2);
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    names.push_back(fmt::format("data {}", i));
    queue.add_data(task(bench, "one", names.back()));
  }
  int made = 0;
  for (const std::string& name : names)
    if (queue.take_data(name)) ++made;
  EXPECT_LE(made, 20);
  EXPECT_EQ(queue.take_data(names.back()), nullptr);
}

TEST(PreparationQueue, a_finished_queue_is_empty_and_can_be_used_again) {
  TunerBench bench(chain, "fast", table);
  PreparationQueue queue(bench.constants, bench.control, 2);
  queue.add_kernel(task(bench, "one", "kernel"));
  queue.finish();
  EXPECT_EQ(queue.take_kernel("kernel"), nullptr);
  queue.add_kernel(task(bench, "one", "kernel"));
  queue.finish();
}

} // namespace
} // namespace lanner::test
