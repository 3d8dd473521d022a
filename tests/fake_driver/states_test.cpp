// States and aliases on the fake driver.

#include <gtest/gtest.h>

#include "device/cuda/gpu.h"
#include "engine/small_models.h"
#include "fake_driver/fake_gpu.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

/// A sliding window of three columns: `w_out` is `w` without its first column, followed by `x`.
std::string window_model() {
  return model(graph({.nodes = {node({"Slice", {"w", "one", "three", "one"}, {"rest"}}),
                                node({"Concat", {"rest", "x"}, {"w_out"}, {attribute("axis", 1)}}),
                                node({"Transpose", {"w_out"}, {"y"}})},
                      .inputs = {value("w", f32, {"2", "3"}), value("x", f32, {"2", "1"})},
                      .outputs = {value("y", f32, {"3", "2"}), value("w_out", f32, {"2", "3"})},
                      .constants = {integers("one", {1}, {1}), integers("three", {1}, {3})}}));
}

class FakeStates : public GpuKernelTest {};

TEST_F(FakeStates, both_orders_of_state_buffers_are_replayed) {
  BuildOptions options = plain_options(gpu_device);
  options.states = {{"w", "w_out"}};
  const Engine engine = built(window_model(), options);
  Context context = engine.create_context();
  const Tensor x = ramp({2, 1}, 1).to(gpu_device);
  context.bind("x", x);
  const std::vector<std::vector<float>> want{{0, 0, 0, 0, 1, 2}, {0, 0, 1, 2, 1, 2}, {1, 2, 1, 2, 1, 2}};
  for (std::size_t run = 0; run < 8; ++run) {
    fake_cuda_forget();
    context.run();
    const std::string log = fake_cuda_log();
    EXPECT_EQ(numbers(context.output("y").tensor), want[std::min<std::size_t>(run, 2)]) << run;
    if (run < 5) continue;
    EXPECT_EQ(count(log, "cuGraphLaunch"), 1u) << log;
    for (const char* call :
         {"cuLaunchKernel", "Capture", "cuMemAlloc", "cuMemFree", "cuMemcpy", "Instantiate"})
      EXPECT_EQ(count(log, call), 0u) << log;
  }
  EXPECT_EQ(context.output("w_out").tensor.device(), gpu_device);
  EXPECT_EQ(numbers(context.state("w").tensor), (std::vector<float>{1, 1, 1, 2, 2, 2}));
  context.bind("w", ramp({2, 3}, 4));
  context.run();
  EXPECT_EQ(numbers(context.output("y").tensor), (std::vector<float>{5, 8, 6, 9, 1, 2}));
  context.reset_states();
  context.run();
  EXPECT_EQ(numbers(context.output("y").tensor), want[0]);
  EXPECT_TRUE(engine.verify().right());
}

TEST_F(FakeStates, are_read_and_set_after_the_runs_enqueued_on_another_stream) {
  BuildOptions options = plain_options(gpu_device);
  options.states = {{"w", "w_out"}};
  const Engine engine = built(window_model(), options);
  const Tensor x = ramp({2, 1}, 1).to(gpu_device);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    fake_cuda_defer(seed);
    const cuda::OwnedStream stream(cuda::Gpu::get(gpu_device));
    Context context = engine.create_context();
    context.bind("x", x);
    context.enqueue(stream.stream());
    EXPECT_EQ(numbers(context.state("w").tensor), (std::vector<float>{0, 0, 1, 0, 0, 2})) << seed;
    context.enqueue(stream.stream());
    context.bind("w", ramp({2, 3}, 4));
    context.enqueue(stream.stream());
    EXPECT_EQ(numbers(context.state("w").tensor), (std::vector<float>{5, 6, 1, 8, 9, 2})) << seed;
    stream.synchronize();
    fake_cuda_defer(0);
  }
}

TEST_F(FakeStates, an_alias_is_copied_back_to_the_host) {
  BuildOptions options = plain_options(gpu_device);
  options.aliases = {{"w_out", "w"}};
  Context context = built(window_model(), options).create_context();
  const Tensor on_host = ramp({2, 3}), on_gpu = ramp({2, 3}).to(gpu_device);
  for (const Tensor& w : {on_host, on_gpu}) {
    context.bind("w", w);
    context.bind("x", ramp({2, 1}, 10));
    for (int run = 0; run < 2; ++run) context.run();
    EXPECT_EQ(numbers(w), (std::vector<float>{2, 10, 10, 5, 11, 11}));
    EXPECT_EQ(context.output("w_out").tensor.data(), w.data());
    EXPECT_EQ(numbers(context.output("y").tensor), (std::vector<float>{2, 5, 10, 11, 10, 11}));
  }
}

TEST_F(FakeStates, transposed_inputs_are_read_in_their_layout) {
  BuildOptions options = plain_options(gpu_device);
  options.storages["w"] = BindingStorage::parse("ba");
  options.storages["y"] = BindingStorage::parse("ba");
  Context context = built(window_model(), options).create_context();
  const auto got = context({{"w", laid_out(ramp({2, 3}), "ba")}, {"x", ramp({2, 1}, 10)}});
  EXPECT_EQ(got.at("y").tensor.layout().to_string(), "ba");
  EXPECT_EQ(numbers(got.at("y").tensor), (std::vector<float>{1, 4, 2, 5, 10, 11}));
  const Tensor far = laid_out(ramp({2, 3}), "ba").to(gpu_device);
  EXPECT_EQ(numbers(context({{"w", far}, {"x", ramp({2, 1}, 10)}}).at("y").tensor),
            (std::vector<float>{1, 4, 2, 5, 10, 11}));
}

} // namespace
} // namespace lanner::test
