// Engines that spread a network over streams, and their plans, on the fake driver.

#include <random>
#include <string>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/plan_file/plan_parts.h"
#include "engine/small_models.h"
#include "engine/told.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "temporary_folder.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

/// Two branches of kernels that only move bytes, which the fake driver runs.
std::string branches_model() {
  using namespace onnx_file;
  return model(graph({.nodes = {node({"Transpose", {"x"}, {"t"}}),
                                node({"Concat", {"t", "t"}, {"a"}, {attribute("axis", 1)}}),
                                node({"Transpose", {"a"}, {"b"}}),
                                node({"Concat", {"x", "x"}, {"c"}, {attribute("axis", 1)}}),
                                node({"Transpose", {"c"}, {"d"}})},
                      .inputs = {value("x", f32, {"6", "6"})},
                      .outputs = {value("b", f32, {"12", "6"}), value("d", f32, {"12", "6"})}}));
}

class StreamEngine : public GpuKernelTest {
protected:
  void SetUp() override {
    GpuKernelTest::SetUp();
    fake_cuda_kernel_seconds(1e-3);
  }

  Engine built(Device device = gpu_device, bool deterministic = false) {
    BuildOptions options = plain_options(device);
    options.budget = deterministic ? 0 : 5;
    options.deterministic = deterministic;
    options.timing_cache = folder_.path() / "timings";
    return test::built(branches_model(), options);
  }

  /// In random orders.
  static void expect_right(const Engine& engine, const Engine& host) {
    const auto expected = host.create_context()({{"x", ramp({6, 6})}});
    for (unsigned seed = 1; seed < 8; ++seed) {
      fake_cuda_defer(seed);
      Context context = engine.create_context();
      for (int run = 0; run < 4; ++run) {
        const auto found = context({{"x", ramp({6, 6})}});
        for (const auto& [name, item] : expected)
          EXPECT_EQ(numbers(found.at(name).tensor), numbers(item.tensor)) << name << ", run " << run;
      }
      fake_cuda_defer(0);
    }
  }

  static int streams(const Engine& engine) {
    const nlohmann::json explained = told(engine);
    int most = 0;
    for (const auto& node : explained.at("nodes")) most = std::max(most, node.value("stream", 0));
    EXPECT_EQ(explained.at("variants").at(0).at("streams"), most + 1);
    return most + 1;
  }

  TemporaryFolder folder_;
};

TEST_F(StreamEngine, UsesSeveralWhereTheNetworkRunsFaster) {
  const Engine engine = built();
  EXPECT_EQ(streams(engine), 2) << engine.lowered_ir();
  expect_right(engine, built(Device{}));
}

TEST_F(StreamEngine, UsesOneInDeterministicBuilds) {
  EXPECT_EQ(streams(built(gpu_device, true)), 1);
}

TEST_F(StreamEngine, PlansKeepStreams) {
  const Engine engine = built();
  const auto path = folder_.path() / "branches.plan";
  engine.save(path);
  const Engine loaded = Engine::load(path);
  EXPECT_EQ(loaded.lowered_ir(), engine.lowered_ir());
  EXPECT_EQ(streams(loaded), 2);
  expect_right(loaded, built(Device{}));
}

/// The plan does not hold dependencies, so other streams cannot make it wrong.
TEST_F(StreamEngine, PlansWithChangedStreamsAreRightOrRefused) {
  const auto path = folder_.path() / "branches.plan";
  built().save(path);
  const Parts saved(path);
  const Engine host = built(Device{});
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    Parts parts(path);
    std::string& text = parts.content.at("lowered");
    text = replaced(text, " stream(1)", "");
    for (std::size_t at = text.find("tactic("); at != std::string::npos; at = text.find("tactic(", at + 1))
      text.insert(text.find(")\n", at) + 1, " stream(" + std::to_string(random() % 4) + ")");
    parts.write(folder_.path() / "other.plan");
    expect_right(Engine::load(folder_.path() / "other.plan"), host);
  }
  const std::pair<const char*, const char*> hostile[] = {{" stream(4)", "stream 4, expected 0 to 3"},
                                                         {" stream(-1)", "stream -1, expected 0 to 3"},
                                                         {" stream(1", "expected `)`"},
                                                         {" stream(1) stream(1)", "expected a value"}};
  for (const auto& [text, message] : hostile) {
    Parts parts(path);
    std::string& lowered = parts.content.at("lowered");
    lowered.replace(lowered.find(" stream(1)"), 10, text);
    parts.write(folder_.path() / "hostile.plan");
    LANNER_EXPECT_ERROR(Engine::load(folder_.path() / "hostile.plan"), ErrorCode::bad_data, message);
  }
}

} // namespace
} // namespace lanner::test
