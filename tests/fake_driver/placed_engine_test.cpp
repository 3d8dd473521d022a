// Engines over several GPUs and the host, and their plans, on the fake driver.

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/heard.h"
#include "engine/plan_file/plan_parts.h"
#include "engine/small_models.h"
#include "engine/told.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "temporary_folder.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

using namespace onnx_file;
using Json = nlohmann::json;

constexpr Device first{DeviceKind::cuda, 0}, second{DeviceKind::cuda, 1};

/// Two branches of kernels that only move bytes, which the fake driver runs, and their join; a sum along an
/// axis has no kernel on a GPU.
std::string model_bytes() {
  return model(graph({.nodes = {node({"Transpose", {"x"}, {"t"}}),
                                node({"Concat", {"t", "t"}, {"a"}, {attribute("axis", 1)}}),
                                node({"Transpose", {"a"}, {"b"}}),
                                node({"Concat", {"x", "x"}, {"c"}, {attribute("axis", 0)}}),
                                node({"CumSum", {"c", "axis"}, {"s"}}),
                                node({"Concat", {"b", "s"}, {"y"}, {attribute("axis", 0)}})},
                      .inputs = {value("x", f32, {"6", "6"})},
                      .outputs = {value("y", f32, {"24", "6"})},
                      .constants = {integers("axis", {}, {0})}}));
}

BuildOptions placed(std::vector<Device> further, std::vector<PlacedNodes> nodes, bool strict = false) {
  BuildOptions options = plain_options(first);
  options.placement = {std::move(further), std::move(nodes), strict};
  return options;
}

Engine on_two() {
  return built(model_bytes(), placed({second}, {{"a", second}}));
}

/// The devices on which steps of this operator run.
std::vector<std::string> devices_of(const Engine& engine, const std::string& op) {
  std::vector<std::string> list;
  const Json plan = told(engine);
  for (const Json& node : plan["nodes"])
    if (node["op"] == op) list.push_back(node["device"]);
  return list;
}

class PlacedEngine : public GpuKernelTest {
protected:
  void SetUp() override {
    GpuKernelTest::SetUp();
    if (IsSkipped()) return;
    expected_ =
        numbers(built(model_bytes(), plain_options()).create_context()({{"x", ramp({6, 6})}}).at("y").tensor);
  }

  void expect_right(Context& context, int runs) const {
    for (int run = 0; run < runs; ++run)
      EXPECT_EQ(numbers(context({{"x", ramp({6, 6})}}).at("y").tensor), expected_) << run;
  }

  std::vector<float> expected_;
  TemporaryFolder folder_;
};

TEST_F(PlacedEngine, RunsNodesWhereTheyArePlaced) {
  const Engine engine = on_two();
  EXPECT_EQ(devices_of(engine, "concat"), (std::vector<std::string>{"cuda:1", "cuda:0"}));
  const Json plan = told(engine);
  EXPECT_EQ(plan["target"]["devices"].size(), 2u);
  EXPECT_EQ(plan["target"]["placement"]["nodes"][0], (Json{{"pattern", "a"}, {"device", "cuda:1"}}));
  EXPECT_GT(plan["memory"]["arenas"]["cuda:1"], 0);
  EXPECT_TRUE(plan["notes"].empty()) << plan["notes"];
  int between = 0;
  for (const Json& node : plan["nodes"]) between += node["kernel"] == "copy_to_gpu";
  EXPECT_EQ(between, 2);
  for (unsigned seed = 0; seed < 50; ++seed) {
    fake_cuda_defer(seed);
    Context context = engine.create_context();
    expect_right(context, 4);
    fake_cuda_defer(0);
  }
  Context context = engine.create_context();
  expect_right(context, 100);
}

TEST_F(PlacedEngine, RunsHostNodesOnTheHost) {
  const Engine engine = built(model_bytes(), placed({}, {{"a", {}}}));
  EXPECT_EQ(devices_of(engine, "concat"), (std::vector<std::string>{"cpu", "cuda:0"}));
  EXPECT_TRUE(told(engine)["notes"].empty());
  Context context = engine.create_context();
  expect_right(context, 4);
}

TEST_F(PlacedEngine, ReplaysTheRecordingOfEachDevice) {
  const Engine engine = built(model_bytes(), placed({second}, {{"a", second}, {"s", first}}));
  Context context = engine.create_context();
  const Tensor x = ramp({6, 6}).to(first);
  context.bind("x", x);
  std::string log;
  for (int run = 0; run < 4; ++run) {
    fake_cuda_forget();
    context.run();
    log = fake_cuda_log();
    EXPECT_EQ(numbers(context.output("y").tensor), expected_);
  }
  for (const char* call : {"cuLaunchKernel", "Capture", "cuMemAlloc", "cuEventCreate", "cuStreamCreate"})
    EXPECT_EQ(log.find(call), std::string::npos) << log;
  EXPECT_NE(log.find("cuGraphLaunch"), std::string::npos);
  EXPECT_NE(log.find("cuMemcpyPeerAsync"), std::string::npos);
}

TEST_F(PlacedEngine, ContextsRunConcurrently) {
  const Engine engine = on_two();
  const auto work = [&] {
    Context context = engine.create_context();
    expect_right(context, 20);
  };
  std::thread other(work);
  work();
  other.join();
}

TEST_F(PlacedEngine, PlansKeepPlacements) {
  const Engine engine = on_two();
  const auto path = folder_.path() / "two.plan";
  engine.save(path);
  const Engine loaded = Engine::load(path);
  EXPECT_EQ(loaded.lowered_ir(), engine.lowered_ir());
  EXPECT_EQ(told(loaded)["target"], told(engine)["target"]);
  EXPECT_TRUE(told(loaded)["notes"].empty()) << told(loaded)["notes"];
  Context context = loaded.create_context();
  expect_right(context, 4);
}

TEST_F(PlacedEngine, APlanSaysWhichDeviceIsMissing) {
  const auto path = folder_.path() / "two.plan", other = folder_.path() / "other.plan";
  on_two().save(path);
  Parts parts(path);
  std::string& target = parts.metadata.at("lanner.target");
  target = replaced(target, "cuda:1", "cuda:5");
  parts.write(other);
  LANNER_EXPECT_ERROR(Engine::load(other), ErrorCode::invalid_argument,
                      "the plan is for cuda:0,cuda:5: cuda:5 does not exist: the driver lists 3 GPUs");
}

TEST_F(PlacedEngine, APlanLoadedForAnotherDeviceUsesThatDeviceOnly) {
  const auto path = folder_.path() / "two.plan";
  on_two().save(path);
  for (const Device device : {Device{}, second, Device{DeviceKind::cuda, 2}}) {
    LoadOptions options;
    options.device = device;
    const Heard heard;
    const Engine loaded = Engine::load(path, options);
    EXPECT_EQ(told(loaded)["target"]["devices"].size(), 1u);
    ASSERT_EQ(heard.lines().size(), 1u);
    EXPECT_NE(heard.lines()[0].find("tuned again"), std::string::npos) << heard.lines()[0];
    for (const std::string& where : devices_of(loaded, "concat")) EXPECT_EQ(where, device.to_string());
    Context context = loaded.create_context();
    expect_right(context, 4);
  }
}

TEST_F(PlacedEngine, PlacementWithoutAKernelIsReportedOrRefused) {
  const Heard heard;
  const Engine engine = built(model_bytes(), placed({second}, {{"s", second}}));
  const std::string line = "placement 's=cuda:1' is not kept by 1 of its nodes, s (cum_sum) the first: "
                           "no kernel runs it there, so it runs on cpu";
  ASSERT_EQ(heard.lines().size(), 1u);
  EXPECT_EQ(heard.lines()[0], "small.onnx: " + line);
  EXPECT_EQ(told(engine)["notes"], Json::array({line}));
  Context context = engine.create_context();
  expect_right(context, 3);
  LANNER_EXPECT_ERROR(built(model_bytes(), placed({second}, {{"s", second}}, true)), ErrorCode::unsupported,
                      "placement 's=cuda:1' (strict): no kernel runs s (cum_sum) there; place it on cpu, "
                      "or leave strict out");
  static_cast<void>(built(model_bytes(), placed({second}, {{"a", second}}, true)));
}

TEST_F(PlacedEngine, InvalidPlacementsAreRefused) {
  LANNER_EXPECT_ERROR(built(model_bytes(), placed({second}, {{"nothing", second}})),
                      ErrorCode::invalid_argument,
                      "placement 'nothing=cuda:1': no node of the model and no value of the IR has this name");
  LANNER_EXPECT_ERROR(built(model_bytes(), placed({}, {{"a", second}})), ErrorCode::invalid_argument,
                      "placement 'a=cuda:1': the engine's devices are cuda:0 and the host");
  LANNER_EXPECT_ERROR(built(model_bytes(), placed({{DeviceKind::cuda, 7}}, {})), ErrorCode::invalid_argument,
                      "cuda:7 does not exist: the driver lists 3 GPUs");
}

TEST_F(PlacedEngine, IsVerifiedAndHasOneMoreVariant) {
  const Engine engine = on_two();
  const Verification found = engine.verify({.runs = 3});
  EXPECT_TRUE(found.right()) << found.network
                             << (found.differences.empty() ? "" : found.differences[0].reason);
  engine.prepare(std::vector<Variant>{{.shapes = {}, .threads = 2}});
  Context context = engine.create_context({.threads = 2});
  expect_right(context, 4);
}

TEST_F(PlacedEngine, IsTheSameInDeterministicBuildsAndTuned) {
  BuildOptions options = placed({second}, {{"a", second}});
  options.deterministic = true;
  EXPECT_EQ(built(model_bytes(), options).lowered_ir(), built(model_bytes(), options).lowered_ir());
  options.deterministic = false;
  options.budget = 2;
  options.timing_cache = folder_.path() / "timings";
  fake_cuda_kernel_seconds(1e-5);
  const Engine engine = built(model_bytes(), options);
  fake_cuda_kernel_seconds(0);
  EXPECT_EQ(devices_of(engine, "concat"), (std::vector<std::string>{"cuda:1", "cuda:0"}));
  Context context = engine.create_context();
  expect_right(context, 4);
}

} // namespace
} // namespace lanner::test
