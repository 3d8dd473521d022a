// Whole networks on the fake driver: steps on the host, recorded segments, each driver call failing once.

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "temporary_folder.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

/// transpose and concat run on the GPU, cumulative sums have no kernel there: GPU, host, GPU.
std::string hops_model() {
  using namespace test::onnx_file;
  return model(graph({.nodes = {node({"Transpose", {"x"}, {"t"}}), node({"CumSum", {"t", "axis"}, {"c"}}),
                                node({"Concat", {"t", "c"}, {"j"}, {attribute("axis", 1)}}),
                                node({"Transpose", {"j"}, {"y"}})},
                      .inputs = {value("x", f32, {"4", "6"})},
                      .outputs = {value("y", f32, {"8", "6"})},
                      .constants = {integers("axis", {}, {0})}}));
}

Engine build(Device device) {
  return built(hops_model(), plain_options(device));
}

Tensor ramp(float start = 0) {
  return test::ramp({4, 6}, start);
}

std::vector<float> expected(const Tensor& input) {
  return numbers(build(Device{}).create_context()({{"x", input}}).at("y").tensor);
}

class FakeEngine : public GpuKernelTest {};

TEST_F(FakeEngine, hops_to_the_host_and_back) {
  const Engine engine = build(gpu_device);
  Context context = engine.create_context();
  for (float start : {0.f, 5.f, 9.f, 2.f})
    EXPECT_EQ(numbers(context({{"x", ramp(start)}}).at("y").tensor), expected(ramp(start)));
}

TEST_F(FakeEngine, kept_results_stay_on_the_gpu) {
  const Engine engine = build(gpu_device);
  Context context = engine.create_context({.keep_results = true});
  context.bind("x", Item(ramp()));
  std::vector<Tensor> held;
  std::size_t memory = 0;
  for (int run = 0; run < 12; ++run) {
    if (run == 6) {
      fake_cuda_forget();
      memory = fake_cuda_memory();
    }
    context.run();
    held.push_back(context.output("y").tensor);
    if (held.size() > 3) held.erase(held.begin()); // Like a queue of results.
    ASSERT_EQ(held.back().device(), gpu_device);
    for (const Tensor& one : held) EXPECT_EQ(numbers(one.to(Device{})), expected(ramp()));
  }
  const std::string log = fake_cuda_log();
  EXPECT_EQ(count(log, "Alloc"), 0u) << log;
  EXPECT_EQ(count(log, "cuLaunchKernel"), 0u) << log; // The recording stays valid.
  EXPECT_EQ(fake_cuda_memory(), memory);
  const std::vector<float> before = numbers(held[0].to(Device{}));
  context.bind("x", Item(ramp(7)));
  context.run();
  EXPECT_EQ(numbers(held[0].to(Device{})), before);
  EXPECT_EQ(numbers(context.output("y").tensor.to(Device{})), expected(ramp(7)));
}

/// An output that the host computed and stored transposed takes two steps to the GPU.
TEST_F(FakeEngine, brings_transposed_outputs_from_the_host) {
  using namespace test::onnx_file;
  const std::string bytes =
      model(graph({.nodes = {node({"CumSum", {"x", "axis"}, {"c"}}), node({"Transpose", {"c"}, {"y"}})},
                   .inputs = {value("x", f32, {"4", "6"})},
                   .outputs = {value("y", f32, {"6", "4"})},
                   .constants = {integers("axis", {}, {0})}}));
  const auto run = [&](Device device) {
    BuildOptions options;
    options.device = device;
    options.budget = 0;
    const Engine engine = built(bytes, options);
    return numbers(engine.create_context()({{"x", ramp()}}).at("y").tensor);
  };
  EXPECT_EQ(run(gpu_device), run(Device{}));
}

TEST_F(FakeEngine, explains_the_hops) {
  const std::string told = build(gpu_device).explain_json();
  // Each is listed as the node's kernel and among the candidates considered.
  EXPECT_EQ(count(told, "\"kernel\": \"copy_to_host\""), 2u) << told;
  EXPECT_EQ(count(told, "\"kernel\": \"copy_to_device\""), 2u) << told;
}

TEST_F(FakeEngine, the_third_run_replays_recorded_segments) {
  const Engine engine = build(gpu_device);
  Context context = engine.create_context();
  context.bind("x", Item(ramp().to(gpu_device)));
  std::vector<std::string> logs;
  for (int run = 0; run < 3; ++run) {
    fake_cuda_forget();
    context.run();
    logs.emplace_back(fake_cuda_log());
  }
  EXPECT_GT(count(logs[0], "cuLaunchKernel"), 0u);
  EXPECT_EQ(count(logs[0], "cuGraphLaunch"), 0u);
  EXPECT_EQ(count(logs[1], "cuStreamBeginCapture"), 2u); // before and after the step on the host
  // Copies are queued outside of recordings: a recorded copy would be bound to its allocation.
  EXPECT_EQ(logs[2], "cuGraphLaunch\ncuMemcpyDtoHAsync\ncuStreamSynchronize\n"
                     "cuMemcpyHtoDAsync\ncuGraphLaunch\ncuStreamSynchronize\n");
  EXPECT_EQ(numbers(context.output("y").tensor), expected(ramp()));
}

/// y is x twice, with any number of rows.
Engine any_rows() {
  using namespace test::onnx_file;
  const std::string bytes =
      model(graph({.nodes = {node({"Transpose", {"x"}, {"t"}}),
                             node({"Concat", {"t", "t"}, {"j"}, {attribute("axis", 1)}}),
                             node({"Transpose", {"j"}, {"y"}})},
                   .inputs = {value("x", f32, {"n", "6"})},
                   .outputs = {value("y", f32, {"m", "6"})}}));
  BuildOptions options = plain_options(gpu_device);
  options.shapes["x"] = {{1, 6}, {4, 6}, {9, 6}};
  return built(bytes, options);
}

Tensor rows(std::int64_t count) {
  return test::ramp({count, 6}, static_cast<float>(count));
}

std::vector<float> twice(const Tensor& tensor) {
  std::vector<float> all = numbers(tensor), again = all;
  all.insert(all.end(), again.begin(), again.end());
  return all;
}

TEST_F(FakeEngine, returning_to_earlier_shapes_replays_their_recording) {
  const Engine engine = any_rows();
  Context context = engine.create_context();
  const std::vector<Tensor> inputs{rows(4).to(gpu_device), rows(7).to(gpu_device), rows(2)};
  std::string log;
  for (int round = 0; round < 5; ++round)
    for (const Tensor& input : inputs) {
      context.bind("x", Item(input));
      fake_cuda_forget();
      context.run();
      log = fake_cuda_log();
      EXPECT_EQ(numbers(context.output("y").tensor), twice(input));
      if (round < 4) continue;
      EXPECT_EQ(count(log, "cuGraphLaunch"), 1u) << log;
      for (const char* call : {"cuLaunchKernel", "Capture", "cuMemAlloc", "cuMemFree", "Instantiate"})
        EXPECT_EQ(count(log, call), 0u) << log;
    }
}

std::size_t device_bytes() {
  fake_cuda_most_device_bytes();
  return fake_cuda_most_device_bytes();
}

/// Memory of data-dependent values is kept with the shapes that it ran with.
TEST_F(FakeEngine, memory_of_data_dependent_sizes_is_kept_within_the_limit) {
  using namespace test::onnx_file;
  const std::string bytes =
      model(graph({.nodes = {node({"Transpose", {"x"}, {"t"}}), node({"ConstantOfShape", {"size"}, {"y"}})},
                   .inputs = {value("x", f32, {"n", "6"}), value("size", i64, {"1"})},
                   .outputs = {value("t", f32, {"6", "n"}), value("y", f32, {"m"})}}));
  BuildOptions options;
  options.device = gpu_device;
  options.budget = 0;
  options.limits.total_bytes = 64u << 20; // an eighth of it may be kept
  const Engine engine = Engine::build(open_bytes(std::as_bytes(std::span(bytes))), options);
  Context context = engine.create_context();
  const auto run = [&](std::int64_t count, std::int64_t size) {
    context.bind("x", Item(rows(count)));
    context.bind("size", Item(Tensor::scalar(size).reshaped({1})));
    context.run();
    EXPECT_EQ(context.output("y").tensor.shape(), Shape{size});
  };
  constexpr std::size_t mega = 1u << 20;
  run(4, mega); // 4 MB
  run(7, 100'000);
  EXPECT_GT(device_bytes(), 4 * mega);
  run(4, 3 * mega);
  run(7, 100'000);
  EXPECT_LT(device_bytes(), 4 * mega);
}

TEST_F(FakeEngine, new_memory_is_never_replayed_over) {
  const Engine engine = build(gpu_device);
  Context context = engine.create_context();
  for (int round = 0; round < 3; ++round) {
    const Tensor input = ramp(static_cast<float>(round)).to(gpu_device);
    context.bind("x", Item(input));
    for (int run = 0; run < 3; ++run) context.run();
    EXPECT_EQ(numbers(context.output("y").tensor), expected(ramp(static_cast<float>(round))));
  }
}

TEST_F(FakeEngine, results_go_where_inputs_came_from) {
  const Engine engine = build(gpu_device);
  Context context = engine.create_context();
  EXPECT_TRUE(context({{"x", ramp()}}).at("y").tensor.device().is_host());
  EXPECT_EQ(context({{"x", ramp().to(gpu_device)}}).at("y").tensor.device(), gpu_device);
  Tensor own = Tensor::allocate(DType::f32, {8, 6}, {}, gpu_device);
  context.bind_output("y", own);
  context.bind("x", Item(ramp(3)));
  context.run();
  EXPECT_EQ(numbers(own), expected(ramp(3)));
  context.bind_output("y", Tensor::zeros(DType::f32, {8, 6}));
  context.run();
  EXPECT_TRUE(context.output("y").tensor.device().is_host());
  EXPECT_EQ(numbers(context.output("y").tensor), expected(ramp(3)));
}

TEST_F(FakeEngine, plans_are_loaded_and_moved_between_devices) {
  const TemporaryFolder folder;
  build(gpu_device).save(folder.path() / "gpu.plan");
  const Engine same = Engine::load(folder.path() / "gpu.plan");
  EXPECT_EQ(numbers(same.create_context()({{"x", ramp()}}).at("y").tensor), expected(ramp()));
  LoadOptions options;
  options.device = Device{};
  const Engine other = Engine::load(folder.path() / "gpu.plan", options);
  EXPECT_EQ(numbers(other.create_context()({{"x", ramp()}}).at("y").tensor), expected(ramp()));
  build(Device{}).save(folder.path() / "cpu.plan");
  options.device = gpu_device;
  const Engine moved = Engine::load(folder.path() / "cpu.plan", options);
  EXPECT_EQ(moved.create_context()({{"x", ramp().to(gpu_device)}}).at("y").tensor.device(), gpu_device);
}

TEST_F(FakeEngine, one_program_serves_any_number_of_threads_where_none_runs_on_the_host) {
  const auto model = [](std::string kind) {
    using namespace test::onnx_file;
    return test::onnx_file::model(
        graph({.nodes = {node({"Transpose", {"x"}, {"t"}}), node({std::move(kind), {"t", "axis"}, {"y"}})},
               .inputs = {value("x", f32, {"4", "6"})},
               .outputs = {value("y", f32, {})},
               .constants = {integers("axis", {1}, {0})}}));
  };
  const TemporaryFolder folder;
  for (const bool on_host : {false, true}) {
    const Engine engine = on_host ? build(gpu_device) : built(model("Unsqueeze"), plain_options(gpu_device));
    const EngineState& state = state_of(engine);
    const InputShapes shapes{Shape{4, 6}};
    const auto first = state.variant(shapes, 1, {}, false), second = state.variant(shapes, 3, {}, false);
    EXPECT_EQ(first->program->on_host(), on_host);
    EXPECT_EQ(first->program == second->program, !on_host);
    engine.prepare({{"x", {4, 6}}}, 5);
    EXPECT_EQ(first->program == state.variant(shapes, 5)->program, !on_host);
    engine.save(folder.path() / "saved.plan");
    const Engine loaded = Engine::load(folder.path() / "saved.plan");
    EXPECT_EQ(state_of(loaded).variants().list().size(), on_host ? 2u : 1u);
  }
}

TEST_F(FakeEngine, contexts_do_not_share_memory) {
  const Engine engine = build(gpu_device);
  Context one = engine.create_context(), two = engine.create_context();
  const auto a = one({{"x", ramp(1)}}), b = two({{"x", ramp(2)}});
  EXPECT_EQ(numbers(a.at("y").tensor), expected(ramp(1)));
  EXPECT_EQ(numbers(b.at("y").tensor), expected(ramp(2)));
}

TEST_F(FakeEngine, profiles_every_step) {
  Context context = build(gpu_device).create_context({.threads = 1, .profile = true});
  context({{"x", ramp()}});
  const std::vector<StepProfile> steps = context.profile();
  ASSERT_FALSE(steps.empty());
  for (const StepProfile& step : steps) EXPECT_GT(step.seconds, 0) << step.name;
}

/// Build, three runs with host memory, three with GPU memory.
void everything() {
  const Engine engine = build(gpu_device);
  Context context = engine.create_context();
  for (int run = 0; run < 3; ++run) context({{"x", ramp()}});
  context.bind("x", Item(ramp().to(gpu_device)));
  for (int run = 0; run < 3; ++run) context.run();
}

class FailingCall : public GpuKernelTest, public testing::WithParamInterface<int> {};

TEST_P(FailingCall, is_one_error_and_nothing_leaks) {
  everything(); // kernels' code stays loaded
  const std::size_t memory = fake_cuda_memory(), objects = fake_cuda_objects(), before = fake_cuda_calls();
  everything();
  const std::size_t calls = fake_cuda_calls() - before;
  ASSERT_EQ(fake_cuda_memory(), memory);
  ASSERT_EQ(fake_cuda_objects(), objects);
  for (std::size_t number = 1; number <= calls; ++number) {
    EXPECT_TRUE(fails(number, GetParam(), everything))
        << "call " << number << " of " << calls << " failed without an error";
    EXPECT_EQ(fake_cuda_memory(), memory) << "call " << number;
    EXPECT_EQ(fake_cuda_objects(), objects) << "call " << number;
  }
  everything();
}

INSTANTIATE_TEST_SUITE_P(statuses, FailingCall, testing::Values(out_of_memory, launch_failed));

TEST_F(FakeEngine, a_run_that_failed_may_be_tried_again) {
  const Engine engine = build(gpu_device);
  Context context = engine.create_context();
  context.bind("x", Item(ramp()));
  context.run();
  fake_cuda_forget();
  context.run();
  const std::size_t calls = count(fake_cuda_log(), "\n");
  std::size_t failed = 0;
  for (std::size_t number = 1; number <= calls; ++number) {
    // Later runs replay the recordings of earlier ones, with fewer calls.
    failed += fails(number, launch_failed, [&] { context.run(); });
    context.run();
    EXPECT_EQ(numbers(context.output("y").tensor), expected(ramp())) << "after call " << number;
  }
  EXPECT_GE(failed, 4u); // the copies and the launches of graphs
}

} // namespace
} // namespace lanner::test
