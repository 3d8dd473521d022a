// Runs that override initialisers while the engine of such a run is being built.

#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "expect_error.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::numbers;
using test::ramp;

/// y = x + a + b, where runs may give a and b.
Engine sum() {
  return built({.nodes = {node({"Add", {"x", "a"}, {"s"}}), node({"Add", {"s", "b"}, {"y"}})},
                .inputs = {value("x", f32, {"2"}), value("a", f32, {"2"}), value("b", f32, {"2"})},
                .outputs = {value("y", f32, {"2"})},
                .constants = {floats("a", {2}, {1, 1}), floats("b", {2}, {2, 2})}});
}

Context giving(const Engine& engine, const char* name) {
  Context context = engine.create_context();
  context.bind("x", ramp({2}));
  context.bind(name, ramp({2}, 10));
  return context;
}

/// Runs and calls `act` once, with the first progress of the build.
template<typename Act>
std::vector<float> run_with(Context& context, const Act& act) {
  bool acted = false;
  const auto progress = [&](const ProgressUpdate&) {
    if (!std::exchange(acted, true)) act();
  };
  context.run({}, {{}, progress});
  EXPECT_TRUE(acted);
  return numbers(context.output("y").tensor);
}

TEST(Overriding, AWaitForABuildCanBeCancelled) {
  const Engine engine = sum();
  Context first = giving(engine, "a"), second = giving(engine, "a");
  Control control;
  control.cancel = CancelToken::create();
  control.cancel.cancel();
  const auto wait = [&] {
    const std::jthread waiting(
        [&] { LANNER_EXPECT_ERROR(second.run({}, control), ErrorCode::cancelled, "cancel"); });
  };
  EXPECT_EQ(run_with(first, wait), (std::vector<float>{12, 14}));
  second.run();
  EXPECT_EQ(numbers(second.output("y").tensor), (std::vector<float>{12, 14}));
}

TEST(Overriding, AProgressCallbackCannotBuildAnother) {
  const Engine engine = sum();
  Context first = giving(engine, "a"), same = giving(engine, "a"), other = giving(engine, "b");
  const auto run_others = [&] {
    for (Context* context : {&same, &other})
      LANNER_EXPECT_ERROR(context->run(), ErrorCode::invalid_argument, "expected another thread");
  };
  EXPECT_EQ(run_with(first, run_others), (std::vector<float>{12, 14}));
  other.run();
  EXPECT_EQ(numbers(other.output("y").tensor), (std::vector<float>{11, 13}));
}

} // namespace
} // namespace lanner
