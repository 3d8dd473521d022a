// Whole networks on the fakes: engine searches during a build, and when its plan is loaded.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "backends/convolution/conv_engines.h"
#include "expect_error.h"
#include "fake_libraries/fake_libraries.h"
#include "fake_libraries/library_network.h"
#include "run/lowered_text.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

/// Two convolutions of the same shape, each with a relu.
std::string twins_model(std::string_view batch = "1") {
  using namespace onnx_file;
  const std::vector<std::int64_t> dims{4, 4, 3, 3}, pads{1, 1, 1, 1};
  std::vector<float> weights(4 * 4 * 3 * 3);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.01F * static_cast<float>(i % 17) - 0.05F;
  std::vector<float> others(weights.rbegin(), weights.rend());
  return model(graph(
      {.nodes = {node({"Conv", {"x", "w"}, {"a"}, {attribute("pads", pads)}}), node({"Relu", {"a"}, {"b"}}),
                 node({"Conv", {"b", "v"}, {"c"}, {attribute("pads", pads)}}), node({"Relu", {"c"}, {"y"}})},
       .inputs = {value("x", f32, {std::string(batch), "4", "5", "5"})},
       .outputs = {value("y", f32, {std::string(batch), "4", "5", "5"})},
       .constants = {floats("w", dims, weights), floats("v", dims, others)}}));
}

class FakeNetwork : public LibraryNetworkTest {
protected:
  Engine build(Device device, double budget) const {
    return LibraryNetworkTest::build(twins_model(), device, budget);
  }
  static std::vector<float> run(const Engine& engine) {
    return LibraryNetworkTest::run(engine, {{"x", saw({1, 4, 5, 5}, 0.04F)}});
  }
};

TEST_F(FakeNetwork, without_a_budget_there_is_one_search) {
  const std::size_t searches = fake_cudnn_searches(), plans = fake_cudnn_plans();
  const Engine engine = build(gpu_device, 0);
  EXPECT_EQ(fake_cudnn_searches() - searches, 1u); // one problem, in the better layout
  EXPECT_EQ(fake_cudnn_plans() - plans, 1u);
  expect_same(run(engine), run(build(Device{}, 0)));
}

/// Convolutions of ten sizes, each twice.
std::string sizes_text() {
  std::string text = "graph @main(%x0: f32[1, 4, 9, 9]) -> (%x20 as \"y\") {\n";
  for (int i = 0; i < 20; ++i) {
    const int from = i == 0 ? 4 : 4 + (i - 1) / 2, to = 4 + i / 2;
    text +=
        fmt::format("  %w{0} = constant() {{value = random(f32[{1}, {2}, 3, 3], seed = {0}, std = 0.1)}}\n"
                    "  %c{0}: f32[*] = conv(%x{0}, %w{0}, _) {{pads = [1, 1, 1, 1]}}\n"
                    "  %x{3}: f32[*] = relu(%c{0})\n",
                    i, to, from, i + 1);
  }
  return text + "}";
}

TEST_F(FakeNetwork, another_shape_tries_the_first_ones_choice) {
  BuildOptions options = plain_options(gpu_device);
  options.budget = 100;
  options.timing_cache = folder_ / "timing.txt";
  options.profiles = {{{"x", {Shape{1, 4, 5, 5}, Shape{2, 4, 5, 5}, Shape{8, 4, 5, 5}}}}};
  const Engine engine = built(twins_model("n"), options);
  const std::map<std::string, Item> inputs{{"x", saw({5, 4, 5, 5}, 0.04F)}};
  const std::size_t searches = fake_cudnn_searches(), plans = fake_cudnn_plans();
  const std::vector<float> found = LibraryNetworkTest::run(engine, inputs);
  EXPECT_LE(fake_cudnn_searches() - searches, 1u);
  EXPECT_LE(fake_cudnn_plans() - plans, 3u); // the first candidate, and the two graphs of the chosen one
  expect_same(found, LibraryNetworkTest::run(built(twins_model("n"), plain_options(Device{})), inputs));
}

TEST_F(FakeNetwork, concurrent_searches_find_the_same) {
  const auto lowered_by = [](int threads) {
    cuda::ConvEngines::forget();
    const std::size_t plans = fake_cudnn_plans();
    std::string text = engine_of(sizes_text(), threads, gpu_device).lowered_ir();
    return std::pair(std::move(text), fake_cudnn_plans() - plans);
  };
  const auto alone = lowered_by(1);
  EXPECT_GT(count(alone.first, "\"cuda\", \"conv\""), 10u) << alone.first;
  for (int run = 0; run < 5; ++run) EXPECT_EQ(lowered_by(8), alone);
}

TEST_F(FakeNetwork, a_budget_tries_further_engines) {
  const std::string guessed = build(gpu_device, 0).explain_json(),
                    timed = build(gpu_device, 100).explain_json();
  EXPECT_GT(count(timed, "\"kernel\": \"conv\""), count(guessed, "\"kernel\": \"conv\"")) << timed;
}

TEST_F(FakeNetwork, a_plan_loads_without_a_search) {
  const std::filesystem::path plan = folder_ / "twins.plan";
  const Engine engine = build(gpu_device, 100);
  engine.save(plan);
  const std::vector<float> expected = run(engine);
  cuda::ConvEngines::forget();
  const std::size_t searches = fake_cudnn_searches(), plans = fake_cudnn_plans();
  const Engine loaded = Engine::load(plan);
  EXPECT_EQ(fake_cudnn_searches(), searches);
  EXPECT_LE(fake_cudnn_plans() - plans, 4u); // at most two graphs in each of two layouts
  EXPECT_EQ(run(loaded), expected);
}

TEST_F(FakeNetwork, a_plan_whose_engine_no_longer_works_is_tuned_again) {
  const std::filesystem::path plan = folder_ / "twins.plan";
  build(gpu_device, 0).save(plan);
  cuda::ConvEngines::forget();
  fake_cudnn_limit_operations(1);
  const Engine other = Engine::load(plan);
  fake_cudnn_limit_operations(SIZE_MAX);
  expect_same(run(other), run(build(Device{}, 0)));
}

/// A step with kernels on the host only, whose weights are inputs: they arrive from the GPU in the blocked
/// layout that the host's kernels need.
TEST_F(FakeNetwork, a_host_step_gets_its_operands_in_blocks) {
  using namespace onnx_file;
  const std::string bytes =
      model(graph({.nodes = {node({"ConvTranspose", {"x", "w"}, {"y"}})},
                   .inputs = {value("x", f32, {"4", "1", "1"}), value("w", f32, {"1", "1", "1"})},
                   .outputs = {value("y", f32, {"4", "1", "1"})}}));
  const auto results = [&](Device device) {
    return LibraryNetworkTest::run(LibraryNetworkTest::build(bytes, device),
                                   {{"x", saw({4, 1, 1}, 0.04F)}, {"w", saw({1, 1, 1}, 0.04F)}});
  };
  expect_same(results(gpu_device), results(Device{}));
}

} // namespace
} // namespace lanner::test
