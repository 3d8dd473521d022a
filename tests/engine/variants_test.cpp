// Variants: each is made once, while contexts on others run.

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "asleep.h"
#include "base/check.h"
#include "engine/small_models.h"
#include "engine/state.h"
#include "engine/variants.h"
#include "expect_error.h"

namespace lanner {
namespace {

/// Reached only by a failing test.
constexpr std::chrono::minutes timeout{1};

/// Blocks a thread until it is opened.
class Gate {
public:
  /// Blocks, in the first call only.
  void pass() {
    if (!reached_once_.exchange(true)) {
      reached_.set_value();
      open_.get_future().wait();
    }
  }
  bool reached() { return reached_.get_future().wait_for(timeout) == std::future_status::ready; }
  void open() { open_.set_value(); }

private:
  std::atomic<bool> reached_once_{false};
  std::promise<void> reached_, open_;
};

VariantKey key(std::int64_t size, int threads = 1) {
  return {{Shape{size}}, threads};
}

TEST(Variants, ConcurrentRequestGetsTheSameVariant) {
  Variants variants;
  Gate gate;
  std::atomic<int> made{0};
  const auto make = [&] {
    ++made;
    gate.pass();
    return MadeVariant{};
  };
  std::array<std::future<MadeVariantPtr>, 4> asked;
  for (auto& one : asked)
    one = std::async(std::launch::async, [&] { return variants.get(key(1), false, {}, make); });
  ASSERT_TRUE(gate.reached());
  gate.open();
  const MadeVariantPtr first = asked[0].get();
  for (std::size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i].get(), first);
  EXPECT_EQ(made, 1);
}

TEST(Variants, OthersAreFoundAndMadeWhileOneIsMade) {
  Variants variants;
  const MadeVariantPtr known = variants.get(key(1), true, {}, [] { return MadeVariant{}; });
  Gate gate;
  auto slow = std::async(std::launch::async, [&] {
    return variants.get(key(2), true, {}, [&] {
      gate.pass();
      return MadeVariant{};
    });
  });
  ASSERT_TRUE(gate.reached());
  auto others = std::async(std::launch::async, [&] {
    EXPECT_EQ(variants.get(key(1), false, {}, [] { return MadeVariant{}; }), known);
    variants.get(key(3), false, {}, [] { return MadeVariant{}; });
  });
  EXPECT_EQ(others.wait_for(timeout), std::future_status::ready);
  gate.open();
  slow.get();
  EXPECT_EQ(variants.list().size(), 3u);
}

TEST(Variants, WaiterCanBeCancelled) {
  Variants variants;
  Gate gate;
  auto slow = std::async(std::launch::async, [&] {
    return variants.get(key(1), false, {}, [&] {
      gate.pass();
      return MadeVariant{};
    });
  });
  ASSERT_TRUE(gate.reached());
  Control control;
  control.cancel = CancelToken::create();
  test::ThreadNumber waits;
  auto waiting = std::async(std::launch::async, [&] {
    waits.tell();
    LANNER_EXPECT_ERROR(variants.get(key(1), false, control, [] { return MadeVariant{}; }),
                        ErrorCode::cancelled, "");
  });
  test::wait_until_asleep(waits.get());
  control.cancel.cancel();
  EXPECT_EQ(waiting.wait_for(timeout), std::future_status::ready);
  gate.open();
  EXPECT_NE(slow.get(), nullptr);
}

TEST(Variants, WaiterTakesOverAfterAFailedMaker) {
  Variants variants;
  Gate gate;
  std::atomic<int> made{0};
  const auto make = [&]() -> MadeVariant {
    if (++made > 1) return {};
    gate.pass();
    fail(ErrorCode::cancelled, "the first one gives up");
  };
  auto first = std::async(std::launch::async, [&] { return variants.get(key(1), false, {}, make); });
  ASSERT_TRUE(gate.reached());
  std::array<std::future<MadeVariantPtr>, 3> waiting;
  for (auto& one : waiting)
    one = std::async(std::launch::async, [&] { return variants.get(key(1), false, {}, make); });
  gate.open();
  LANNER_EXPECT_ERROR(first.get(), ErrorCode::cancelled, "gives up");
  for (auto& one : waiting) EXPECT_NE(one.get(), nullptr);
  EXPECT_EQ(made, 2);
}

TEST(Variants, RecursiveRequestIsRejected) {
  Variants variants;
  const auto again = [&] {
    variants.get(key(1), false, {}, [] { return MadeVariant{}; });
    return MadeVariant{};
  };
  LANNER_EXPECT_ERROR(variants.get(key(1), false, {}, again), ErrorCode::invalid_argument,
                      "progress callback");
  EXPECT_NE(variants.get(key(1), false, {}, [] { return MadeVariant{}; }), nullptr);
}

TEST(Variants, VariantMadeAheadReplacesOneMadeAtFirstUse) {
  Variants variants;
  const auto made = [&](bool ahead) {
    return variants.get(key(1), ahead, {}, [&] {
      MadeVariant one;
      one.ahead = ahead;
      return one;
    });
  };
  const MadeVariantPtr at_first_use = made(false);
  EXPECT_EQ(variants.replaced(), 0u);
  const MadeVariantPtr ahead = made(true);
  EXPECT_NE(ahead, at_first_use);
  EXPECT_EQ(variants.replaced(), 1u);
  EXPECT_EQ(made(false), ahead);
  EXPECT_EQ(made(true), ahead);
}

TEST(Variants, TacticsOfVariantsMadeAheadArePreferred) {
  Variants variants;
  const auto put = [&](int threads, bool ahead) {
    MadeVariant one;
    one.threads = threads;
    one.ahead = ahead;
    variants.put(key(1, threads), one);
  };
  EXPECT_EQ(variants.of_shapes({Shape{1}}, 1), nullptr);
  put(1, false);
  put(2, false);
  EXPECT_EQ(variants.of_shapes({Shape{1}}, 2)->threads, 2);
  EXPECT_EQ(variants.of_shapes({Shape{1}}, 5)->threads, 1);
  put(3, true);
  EXPECT_EQ(variants.of_shapes({Shape{1}}, 2)->threads, 3);
}

/// y = relu(x * w) of any batch, in convolutions, which have kernels to choose from.
Engine engine_of_any_batch() {
  using namespace test::onnx_file;
  std::vector<float> numbers(8 * 8 * 3 * 3);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.01F * static_cast<float>(i % 37) - 0.1F;
  const std::string file =
      model(graph({.nodes = {node({"Conv", {"x", "w"}, {"c"}}), node({"Relu", {"c"}, {"y"}})},
                   .inputs = {value("x", f32, {"n", "8", "10", "10"})},
                   .outputs = {value("y", f32, {"n", "8", "8", "8"})},
                   .constants = {floats("w", {8, 8, 3, 3}, numbers)}}));
  BuildOptions options = test::plain_options();
  options.deterministic = true;
  options.shapes["x"] = {{1, 8, 10, 10}, {2, 8, 10, 10}, {64, 8, 10, 10}};
  return test::built(file, options);
}

Tensor ones(std::int64_t batch) {
  Tensor tensor = Tensor::allocate(DType::f32, {batch, 8, 10, 10});
  for (float& number : tensor.as<float>()) number = 1;
  return tensor;
}

TEST(Engine, ContextOnKnownShapesRunsWhileOthersAreMade) {
  const Engine engine = engine_of_any_batch();
  Context known = engine.create_context();
  const Tensor expected = known({{"x", ones(2)}}).at("y").tensor;
  known({{"x", ones(3)}});
  Gate gate;
  Control slow;
  slow.progress = [&](const ProgressUpdate&) { gate.pass(); };
  auto making = std::async(std::launch::async, [&] {
    Context context = engine.create_context();
    return context({{"x", ones(5)}}, slow).at("y").tensor;
  });
  ASSERT_TRUE(gate.reached());
  auto running = std::async(std::launch::async, [&] {
    Context fresh = engine.create_context();
    for (Context* context : {&known, &fresh})
      for (const std::int64_t batch : {2, 3, 4}) // 4 is made meanwhile
        EXPECT_EQ((*context)({{"x", ones(batch)}}).at("y").tensor.shape()[0], batch);
  });
  EXPECT_EQ(running.wait_for(timeout), std::future_status::ready);
  gate.open();
  const Tensor made = making.get();
  ASSERT_EQ(made.shape()[0], 5);
  EXPECT_TRUE(
      std::ranges::equal(made.as<float>().subspan(0, expected.as<float>().size()), expected.as<float>()));
}

TEST(Engine, RunCancelledWhileChoosingKernelsDoesNotBlockItsShapes) {
  const Engine engine = engine_of_any_batch();
  Control cancelled;
  cancelled.cancel = CancelToken::create();
  cancelled.progress = [&](const ProgressUpdate&) { cancelled.cancel.cancel(); };
  Context context = engine.create_context();
  LANNER_EXPECT_ERROR((context({{"x", ones(7)}}, cancelled)), ErrorCode::cancelled, "");
  EXPECT_EQ(context({{"x", ones(7)}}).at("y").tensor.shape()[0], 7);
}

} // namespace
} // namespace lanner
