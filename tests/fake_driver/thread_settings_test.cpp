// A program's allocator and limits on the fake driver.

#include <gtest/gtest.h>

#include "engine/counting_allocator.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

/// GPU, host and GPU again: cumulative sums have no kernel there.
std::string hops_model() {
  return model(
      graph({.nodes = {node({"Concat", {"x", "w"}, {"t"}, {attribute("axis", 0)}}),
                       node({"CumSum", {"t", "axis"}, {"c"}}), node({"Transpose", {"c"}, {"y"}})},
             .inputs = {value("x", f32, {"4", "6"})},
             .outputs = {value("y", f32, {"6", "8"})},
             .constants = {integers("axis", {}, {0}), floats("w", {4, 6}, std::vector<float>(24, 2))}}));
}

BuildOptions with(const Environment& environment) {
  BuildOptions options = plain_options(gpu_device);
  options.environment = environment;
  return options;
}

std::vector<float> expected() {
  Context context = built(hops_model(), plain_options()).create_context();
  return numbers(context({{"x", ramp({4, 6})}}).at("y").tensor);
}

class FakeThreadSettings : public GpuKernelTest {
protected:
  void SetUp() override {
    GpuKernelTest::SetUp();
    if (IsSkipped()) return;
    built(hops_model(), with({})).create_context(); // creates the process-wide GPU state
  }
};

TEST_F(FakeThreadSettings, all_memory_comes_from_the_allocator_and_goes_back) {
  CountingAllocator allocator;
  const std::size_t drivers = fake_cuda_memory();
  {
    const Engine engine = built(hops_model(), with(allocating(allocator)));
    Context context = engine.create_context();
    for (int run = 0; run < 4; ++run) // the later ones are recorded and replayed
      EXPECT_EQ(numbers(context({{"x", ramp({4, 6})}}).at("y").tensor), expected());
    EXPECT_GE(allocator.given_on_gpu(), 4U); // weight, arena, a copy of the input, results
    EXPECT_GE(allocator.given_pinned(), 1U); // copies through the host
    const Tensor x = ramp({4, 6}).to(gpu_device);
    const std::size_t callers = fake_cuda_memory();
    context.bind("x", x);
    context.run();
    const Tensor y = context.output("y").tensor;
    EXPECT_EQ(y.device(), gpu_device);
    EXPECT_TRUE(allocator.has(y.data(), y.bytes()));
    EXPECT_EQ(fake_cuda_memory(), callers);
  }
  EXPECT_EQ(fake_cuda_memory(), drivers);
  EXPECT_EQ(allocator.held(), 0U);
  EXPECT_EQ(allocator.wrong(), "");
}

TEST_F(FakeThreadSettings, a_refusal_anywhere_is_a_clean_error) {
  const std::size_t drivers = fake_cuda_memory(), objects = fake_cuda_objects();
  const Tensor x = ramp({4, 6});
  std::size_t errors = 0;
  for (std::size_t n = 1;; ++n) {
    CountingAllocator allocator;
    allocator.fail(n);
    try {
      Context context = built(hops_model(), with(allocating(allocator))).create_context();
      for (int run = 0; run < 3; ++run) EXPECT_EQ(numbers(context({{"x", x}}).at("y").tensor), expected());
    } catch (const Error& error) {
      ++errors;
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.message();
    }
    EXPECT_EQ(allocator.held(), 0U) << n;
    EXPECT_EQ(fake_cuda_memory(), drivers) << n;
    EXPECT_EQ(fake_cuda_objects(), objects) << n;
    EXPECT_EQ(fake_cuda_contexts(), 0) << n;
    if (!allocator.refused()) break;
  }
  EXPECT_GE(errors, 4U);
}

TEST_F(FakeThreadSettings, results_on_the_gpu_come_from_the_calls_allocator) {
  CountingAllocator allocator;
  {
    const Engine engine = built(hops_model(), with({}));
    Context context = engine.create_context();
    context.bind("x", ramp({4, 6}).to(gpu_device));
    for (int run = 0; run < 4; ++run) {
      context.run({}, {}, {nullptr, allocator.table()});
      const Tensor& y = context.output("y").tensor;
      EXPECT_TRUE(allocator.has(y.data(), y.bytes()));
      EXPECT_EQ(numbers(y), expected());
    }
    EXPECT_EQ(allocator.given_on_gpu(), 4U);
    EXPECT_EQ(allocator.held(), 1U);
  }
  EXPECT_EQ(allocator.held(), 0U);
}

/// Results and scratch memory of these runs are on the GPU only.
TEST_F(FakeThreadSettings, the_total_limit_covers_gpu_memory) {
  const std::string big = model(graph({.nodes = {node({"Concat", {"x", "x"}, {"t"}, {attribute("axis", 0)}}),
                                                 node({"Transpose", {"t"}, {"y"}})},
                                       .inputs = {value("x", f32, {"400", "600"})},
                                       .outputs = {value("y", f32, {"600", "800"})}}));
  Environment environment;
  Limits limits;
  limits.total_bytes = 20'000'000; // a result takes 1.92 megabytes
  environment.set_limits(limits);
  const Tensor x = ramp({400, 600}).to(gpu_device);
  const Engine engine = built(big, with(environment));
  std::vector<Context> contexts;
  const auto fill = [&] {
    for (int i = 0; i < 20; ++i) {
      contexts.push_back(engine.create_context());
      contexts.back().bind("x", x);
      contexts.back().run();
    }
  };
  LANNER_EXPECT_ERROR(fill(), ErrorCode::limit_exceeded, "all engines of the environment: memory: ");
  EXPECT_GE(contexts.size(), 3U);
  contexts.erase(contexts.begin());
  contexts.back().run(); // in the memory freed by the first one
}

} // namespace
} // namespace lanner::test
