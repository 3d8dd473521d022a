// Log, memory and threads of engines, set by an environment or a run.

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/engine.h>
#include <lanner/threads.h>

#include "engine/counting_allocator.h"
#include "engine/heard.h"
#include "engine/two_products.h"
#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::allocating;
using test::answer;
using test::built;
using test::CountingAllocator;
using test::expected;
using test::numbers;
using test::plain_options;
using test::ramp;
using test::two_products;
using test::width;
using test::with;

// --- Logs ---

struct Lines {
  std::mutex mutex;
  std::vector<std::string> list;
  LogCallback callback() {
    return [this](LogLevel level, std::string_view line) {
      const std::lock_guard lock(mutex);
      if (level == LogLevel::warning) list.emplace_back(line);
    };
  }
};

TEST(EnvironmentLog, IsSeparateForEnginesOfOneProcess) {
  const test::Heard process;
  Lines lines[2];
  std::vector<Engine> engines;
  for (Lines& own : lines) {
    Environment environment;
    environment.set_log_callback(own.callback());
    engines.push_back(built(two_products(), with(environment)));
  }
  Context second = engines[1].create_context();
  EXPECT_EQ(answer(second, 100), expected(100)); // in no profile
  EXPECT_TRUE(lines[0].list.empty());
  ASSERT_EQ(lines[1].list.size(), 1U);
  EXPECT_NE(lines[1].list[0].find("no profile contains the shapes x: [100, 128]"), std::string::npos);
  Context first = engines[0].create_context();
  EXPECT_EQ(answer(first, 101), expected(101));
  EXPECT_EQ(lines[0].list.size(), 1U);
  EXPECT_EQ(lines[1].list.size(), 1U);
  EXPECT_TRUE(process.lines().empty());
}

TEST(EnvironmentLog, ReceivesMessagesOfBuildsLoadsAndRefits) {
  const test::Heard process;
  const TemporaryFolder folder;
  Lines lines;
  Environment environment;
  environment.set_log_callback(lines.callback());
  BuildOptions options = with(environment);
  options.precision = Precision::parse("fp16");
  built(two_products(), options).save(folder / "a.plan");
  EXPECT_EQ(lines.list.size(), 1U); // it has no effect on a CPU
  LoadOptions load;
  load.environment = environment;
  const Engine loaded = Engine::load(folder / "a.plan", load);
  Context context = loaded.create_context();
  lines.list.clear();
  answer(context, 99);
  EXPECT_EQ(lines.list.size(), 1U);
  EXPECT_TRUE(process.lines().empty());
}

TEST(EnvironmentLog, DefaultsToTheProcesss) {
  const test::Heard process;
  Environment environment;
  environment.set_log_callback([](LogLevel, std::string_view) {});
  environment.set_log_callback({});
  const Engine engine = built(two_products(), with(environment));
  Context context = engine.create_context();
  answer(context, 98);
  EXPECT_EQ(process.lines().size(), 1U);
}

// --- Memory ---

TEST(EnvironmentAllocator, ProvidesAllMemoryAndGetsItBack) {
  const TemporaryFolder folder;
  CountingAllocator allocator;
  const Tensor x = ramp({64, width});
  {
    const Engine engine = built(two_products(), with(allocating(allocator)));
    const std::size_t after_build = allocator.held();
    EXPECT_GE(after_build, 2U); // the weights
    Context context = engine.create_context();
    const Item y = context({{"x", x}}).at("y");
    EXPECT_EQ(numbers(y.tensor), expected());
    EXPECT_TRUE(allocator.has(y.tensor.data(), y.tensor.bytes()));
    EXPECT_GT(context.arena_bytes(), 0U);
    EXPECT_EQ(allocator.held(), after_build + 2); // the arena and the result
    engine.save(folder / "a.plan");
  }
  EXPECT_EQ(allocator.held(), 0U);
  LoadOptions load;
  load.environment = allocating(allocator);
  std::optional<Item> kept;
  {
    const Engine engine = Engine::load(folder / "a.plan", load);
    EXPECT_GE(allocator.largest(), std::filesystem::file_size(folder / "a.plan")); // which holds the weights
    Context context = engine.create_context();
    kept = context({{"x", x}}).at("y");
  }
  EXPECT_EQ(allocator.held(), 1U);
  EXPECT_EQ(numbers(kept->tensor), expected());
  kept.reset();
  EXPECT_EQ(allocator.held(), 0U);
  EXPECT_EQ(allocator.wrong(), "");
}

TEST(EnvironmentAllocator, IsUsedByItsEnginesOnly) {
  CountingAllocator allocator;
  const Engine own = built(two_products(), with(allocating(allocator)));
  const std::size_t held = allocator.held(), given = allocator.given();
  const Engine other = built(two_products(), with({}));
  Context context = other.create_context();
  EXPECT_EQ(answer(context), expected());
  EXPECT_EQ(allocator.held(), held);
  EXPECT_EQ(allocator.given(), given);
}

/// Builds, loads and runs; returns the answer.
std::vector<float> built_loaded_and_run(const CountingAllocator& allocator,
                                        const std::filesystem::path& plan) {
  const BuildOptions options = with(allocating(allocator), 2);
  built(two_products(), options).save(plan);
  LoadOptions load;
  load.environment = options.environment;
  Context context = Engine::load(plan, load).create_context();
  return answer(context);
}

TEST(EnvironmentAllocator, RefusalAnywhereIsACleanError) {
  const TemporaryFolder folder;
  std::size_t errors = 0;
  for (std::size_t n = 1;; ++n) {
    CountingAllocator allocator;
    allocator.fail(n);
    try {
      // Memory for checking a kernel may be refused without an error.
      EXPECT_EQ(built_loaded_and_run(allocator, folder / "a.plan"), expected());
    } catch (const Error& error) {
      ++errors;
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.message();
      EXPECT_NE(error.message().find("the program's allocator refused"), std::string::npos)
          << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
    }
    EXPECT_EQ(allocator.held(), 0U) << n;
    EXPECT_EQ(allocator.wrong(), "") << n;
    if (!allocator.refused()) break;
  }
  EXPECT_GE(errors, 4U);
}

TEST(EnvironmentAllocator, ContextRunsAgainAfterARefusal) {
  CountingAllocator allocator;
  const Engine engine = built(two_products(), with(allocating(allocator)));
  Context context = engine.create_context();
  for (const std::size_t n : {1, 2}) {
    Context tried = engine.create_context();
    allocator.fail(n);
    LANNER_EXPECT_ERROR(answer(tried), ErrorCode::out_of_memory, "bytes of host memory; let it have more");
    EXPECT_EQ(answer(tried), expected());
  }
}

TEST(EnvironmentAllocator, UnalignedMemoryIsRejected) {
  std::vector<std::byte> memory(1 << 20);
  const lanner_allocator table{memory.data() + 1, [](void* user, const lanner_allocation*) { return user; },
                               [](void*, void*, const lanner_allocation*) {}};
  Environment environment;
  environment.set_allocator(&table);
  LANNER_EXPECT_ERROR(built(two_products(), with(environment)), ErrorCode::invalid_argument,
                      "expected a multiple of 64");
  const lanner_allocator half{nullptr, table.allocate, nullptr};
  LANNER_EXPECT_ERROR(environment.set_allocator(&half), ErrorCode::invalid_argument,
                      "its function release is missing");
}

TEST(RunAllocator, ProvidesTheMemoryOfTheRunsResults) {
  CountingAllocator of_environment, of_call;
  {
    const Engine engine = built(two_products(), with(allocating(of_environment)));
    Context context = engine.create_context();
    context.bind("x", ramp({64, width}));
    const auto ran = [&](const lanner_allocator* allocator) {
      context.run({}, {}, {nullptr, allocator});
      const Tensor& y = context.output("y").tensor;
      EXPECT_EQ(numbers(y), expected());
      return std::pair(of_environment.has(y.data(), y.bytes()), of_call.has(y.data(), y.bytes()));
    };
    EXPECT_EQ(ran(nullptr), std::pair(true, false));
    const std::size_t beside = of_environment.held() - 1;
    EXPECT_EQ(ran(of_call.table()), std::pair(false, true));
    EXPECT_EQ(of_call.given(), 1U);
    EXPECT_EQ(of_environment.held(), beside); // scratch memory and weights stay
    const Item kept = context.output("y");
    EXPECT_EQ(ran(of_call.table()), std::pair(false, true));
    EXPECT_EQ(of_call.held(), 2U);
    EXPECT_EQ(numbers(kept.tensor), expected());
    EXPECT_EQ(ran(nullptr), std::pair(true, false)); // the call's memory is not reused
    EXPECT_EQ(of_call.held(), 1U);
    EXPECT_EQ(ran(of_call.table()), std::pair(false, true));
    context.unbind();
    EXPECT_EQ(of_call.held(), 1U);
  }
  EXPECT_EQ(of_call.held(), 0U);
  EXPECT_EQ(of_call.wrong(), "");
  EXPECT_EQ(of_environment.held(), 0U);
}

TEST(RunAllocator, RefusalIsACleanError) {
  CountingAllocator allocator;
  const Engine engine = built(two_products(), with({}));
  Context context = engine.create_context();
  context.bind("x", ramp({64, width}));
  allocator.fail(1);
  LANNER_EXPECT_ERROR(context.run({}, {}, {nullptr, allocator.table()}), ErrorCode::out_of_memory,
                      "the program's allocator refused");
  context.run({}, {}, {nullptr, allocator.table()});
  EXPECT_EQ(numbers(context.output("y").tensor), expected());
}

/// Results of data-dependent size come from it too.
TEST(RunAllocator, ProvidesResultsOfDataDependentSize) {
  const std::string file = model(graph({.nodes = {node({"NonZero", {"x"}, {"y"}})},
                                        .inputs = {value("x", f32, {"4"})},
                                        .outputs = {value("y", i64, {"1", "?"})}}));
  CountingAllocator allocator;
  {
    const Engine engine = built(file, plain_options());
    Context context = engine.create_context();
    context.bind("x", ramp({4}));
    context.run({}, {}, {nullptr, allocator.table()});
    const Tensor& y = context.output("y").tensor;
    EXPECT_EQ(y.shape(), Shape({1, 3}));
    EXPECT_TRUE(allocator.has(y.data(), y.bytes()));
  }
  EXPECT_EQ(allocator.held(), 0U);
}

// --- Threads ---

/// A pool that counts pieces and runs every second one on a separate thread.
struct Pool {
  std::atomic<int> pieces{0};
  Executor table{this, [](void* user, int count, void (*piece)(void*, int), void* argument) {
                   static_cast<Pool*>(user)->pieces += count;
                   std::vector<std::jthread> threads;
                   for (int i = 0; i < count; ++i)
                     if (i % 2)
                       threads.emplace_back([=] { piece(argument, i); });
                     else
                       piece(argument, i);
                 }};
};

/// A loop over elements, which no library parallelises itself.
std::string long_loop() {
  return model(graph({.nodes = {node({"Softsign", {"x"}, {"y"}})},
                      .inputs = {value("x", f32, {"262144"})},
                      .outputs = {value("y", f32, {"262144"})}}));
}

BuildOptions on_two_threads(const Environment& environment = {}) {
  BuildOptions options = plain_options();
  options.threads = 2;
  options.environment = environment;
  return options;
}

/// Number of pieces of one run that each pool got.
std::vector<int> pieces_of_a_run(const Engine& engine, std::span<Pool* const> pools,
                                 const RunResources& resources = {}) {
  Context context = engine.create_context();
  const Tensor x = ramp({262144}, -1000);
  context.bind("x", x);
  std::vector<int> counts;
  for (Pool* pool : pools) counts.push_back(-pool->pieces);
  context.run({}, {}, resources);
  EXPECT_EQ(context.output("y").tensor.as<float>()[1], -999.F / 1000);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += pools[i]->pieces;
  return counts;
}

TEST(EnvironmentExecutor, RunsTheLoopsOfItsEngines) {
  Pool process, own, given;
  Environment environment;
  environment.set_executor(std::make_shared<const Executor>(own.table));
  const Engine engine = built(long_loop(), on_two_threads(environment));
  const Engine other = built(long_loop(), on_two_threads());
  Pool* const pools[] = {&process, &own, &given};
  set_executor(&process.table);
  const auto of_own = pieces_of_a_run(engine, pools), of_other = pieces_of_a_run(other, pools);
  const auto of_call = pieces_of_a_run(engine, pools, {&given.table, nullptr});
  set_executor(nullptr);
  const auto one = [&](const std::vector<int>& counts, std::size_t at) {
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (i == at)
        EXPECT_GE(counts[i], 2) << i;
      else
        EXPECT_EQ(counts[i], 0) << i;
  };
  one(of_own, 1);
  one(of_other, 0);
  one(of_call, 2);
  EXPECT_EQ(pieces_of_a_run(other, pools), (std::vector{0, 0, 0}));
}

TEST(EnvironmentExecutor, LivesAsLongAsItMayBeCalled) {
  auto pool = std::make_unique<Pool>();
  std::weak_ptr<const Executor> seen;
  {
    Environment environment;
    auto executor = std::make_shared<const Executor>(pool->table);
    seen = executor;
    environment.set_executor(std::move(executor));
    const Engine engine = built(long_loop(), on_two_threads(environment));
    environment = {};
    EXPECT_FALSE(seen.expired());
    Pool* const pools[] = {pool.get()};
    EXPECT_GE(pieces_of_a_run(engine, pools)[0], 2);
  }
  EXPECT_TRUE(seen.expired());
}

TEST(EnvironmentExecutor, NeedsItsFunction) {
  Environment environment;
  LANNER_EXPECT_ERROR(environment.set_executor(std::make_shared<const Executor>()),
                      ErrorCode::invalid_argument, "run is missing");
  const Executor empty;
  const Engine engine = built(long_loop(), on_two_threads());
  Context context = engine.create_context();
  context.bind("x", ramp({262144}));
  LANNER_EXPECT_ERROR(context.run({}, {}, {&empty, nullptr}), ErrorCode::invalid_argument, "run is missing");
}

TEST(EnvironmentThreads, ApplyToEnginesWithoutANumber) {
  const TemporaryFolder folder;
  Environment environment;
  environment.set_threads(3);
  EXPECT_EQ(built(two_products(), with(environment, 0)).threads(), 3);
  const Engine two = built(two_products(), with(environment, 2));
  EXPECT_EQ(two.threads(), 2);
  two.save(folder / "a.plan");
  LoadOptions load;
  environment.set_threads(1);
  load.environment = environment;
  EXPECT_EQ(Engine::load(folder / "a.plan", load).threads(), 1);
  LANNER_EXPECT_ERROR(environment.set_threads(-1), ErrorCode::invalid_argument, "threads is -1");
}

} // namespace
} // namespace lanner
