// Custom operators from the model to answers, with the plug-in of tests/c/custom_operators.c.

#include <latch>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/custom_operators.h"
#include "engine/heard.h"
#include "engine/state.h"
#include "expect_error.h"
#include "importers/onnx_file.h"
#include "program/program.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test;
using namespace test::onnx_file;

BuildOptions options(double budget = 0.5) {
  BuildOptions options;
  options.environment = with_custom_operators();
  options.budget = budget;
  options.threads = 1;
  return options;
}

std::vector<float> answer(Context& context, const Tensor& x) {
  return numbers(context({{"x", Item(x)}}).at("y").tensor);
}

bool verified(const Engine& engine) {
  VerifyOptions options;
  options.runs = 2;
  return engine.verify(options).right();
}

TEST(CustomOperator, RunsByItsKernel) {
  const Engine engine = built(scaling_model(), options());
  EXPECT_NE(engine.lowered_ir().find("tactic(\"custom\", \"own.Scale\""), std::string::npos)
      << engine.lowered_ir();
  Context context = engine.create_context();
  const Tensor x = ramp({2, 3, 4, 5}, -40);
  EXPECT_EQ(answer(context, x), scaled(numbers(x)));
  EXPECT_TRUE(verified(engine));
}

/// Both storages are offered, and that of its neighbours is chosen.
TEST(CustomOperator, UsesTheStorageOfItsNeighbours) {
  const std::string turned = model(graph(
      {.nodes =
           {node({"Transpose", {"i"}, {"x"}, {attribute("perm", std::vector<std::int64_t>{0, 3, 1, 2})}}),
            node({.op = "Scale", .inputs = {"x", "w"}, .outputs = {"s"}, .domain = "own"}),
            node({"Transpose", {"s"}, {"y"}, {attribute("perm", std::vector<std::int64_t>{0, 2, 3, 1})}})},
       .inputs = {value("i", f32, {"1", "64", "64", "3"})},
       .outputs = {value("y", f32, {"1", "64", "64", "3"})},
       .constants = {floats("w", {3}, {1, 2, 3})}}));
  const Engine engine = built(turned, options(0));
  EXPECT_NE(engine.lowered_ir().find("acdb"), std::string::npos) << engine.lowered_ir();
  EXPECT_EQ(engine.lowered_ir().find("reorder"), std::string::npos) << engine.lowered_ir();
  const Tensor x = ramp({1, 64, 64, 3}, -10);
  std::vector<float> expected = numbers(x);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= static_cast<float>(i % 3 + 1);
  Context context = engine.create_context();
  EXPECT_EQ(numbers(context({{"i", Item(x)}}).at("y").tensor), expected);
}

TEST(CustomOperator, RunsByItsReferenceInDeterministicBuilds) {
  BuildOptions wanted = options();
  wanted.deterministic = true;
  const Engine engine = built(scaling_model(), wanted);
  EXPECT_NE(engine.lowered_ir().find("\"reference\""), std::string::npos) << engine.lowered_ir();
  Context context = engine.create_context();
  const Tensor x = ramp({2, 3, 4, 5}, -10);
  EXPECT_EQ(answer(context, x), scaled(numbers(x)));
}

TEST(CustomOperator, KeepsOpenSizes) {
  const Engine engine = built(scaling_model("N"), options());
  EXPECT_EQ(engine.outputs().at(0).to_string(), "y: f32[N, 3, 4, 5]");
  Context context = engine.create_context();
  for (const std::int64_t n : {1, 4, 2}) {
    const Tensor x = ramp({n, 3, 4, 5}, -10);
    EXPECT_EQ(answer(context, x), scaled(numbers(x)));
  }
}

TEST(CustomOperator, HasOutputsOfDataDependentSize) {
  const std::string counting =
      model(graph({.nodes = {node({.op = "Positives", .inputs = {"x"}, .outputs = {"p"}, .domain = "own"}),
                             node({"Neg", {"p"}, {"y"}})},
                   .inputs = {value("x", f32, {"6"})},
                   .outputs = {value("y", f32, {"?"})}}));
  const Engine engine = built(counting, options());
  Context context = engine.create_context();
  for (const auto& [given, expected] : std::vector<std::pair<std::vector<float>, std::vector<float>>>{
           {{1, -2, 3, 0, 5, -6}, {-1, -3, -5}},
           {{-1, -2, -3, -4, -5, -6}, {}},
           {{1, 1, 1, 1, 1, 1}, {-1, -1, -1, -1, -1, -1}}})
    EXPECT_EQ(answer(context, Tensor::from<float>(given, {6})), expected);
}

TEST(CustomOperator, ReadsSmallConstants) {
  const auto built = [](std::vector<Message> constants, std::vector<Message> inputs) {
    return test::built(
        model(graph({.nodes = {node({.op = "Ramp", .inputs = {"n"}, .outputs = {"r"}, .domain = "own"}),
                               node({"Add", {"r", "x"}, {"y"}})},
                     .inputs = std::move(inputs),
                     .outputs = {value("y", f32, {"?", "?"})},
                     .constants = std::move(constants)})),
        options(0));
  };
  const Engine known = built({integers("n", {2}, {2, 3})}, {value("x", f32, {"1"})});
  EXPECT_EQ(known.outputs().at(0).to_string(), "y: f32[2, 3]");
  const Engine unknown = built({}, {value("x", f32, {"1"}), value("n", i64, {"2"})});
  const Tensor x = Tensor::from<float>(std::vector<float>{1}, {1}),
               n = Tensor::from<std::int64_t>(std::vector<std::int64_t>{2, 3}, {2});
  Context one = known.create_context(), other = unknown.create_context();
  const std::vector<float> expected{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(answer(one, x), expected);
  EXPECT_EQ(numbers(other({{"x", Item(x)}, {"n", Item(n)}}).at("y").tensor), expected);
}

/// Runs until two instances were active at once, which the operator counts; it fails if runs share one.
TEST(CustomOperator, HasAnInstancePerRunningContext) {
  const std::string large =
      model(graph({.nodes = {node({.op = "Scale", .inputs = {"x", "w"}, .outputs = {"y"}, .domain = "own"})},
                   .inputs = {value("x", f32, {"4", "3", "64", "64"})},
                   .outputs = {value("y", f32, {"4", "3", "64", "64"})},
                   .constants = {floats("w", {3}, {1, 1, 1})}}));
  const int before = (with_custom_operators(), custom_instances());
  {
    const Engine engine = built(large, options(0));
    const Tensor x = ramp({4, 3, 64, 64}, -10);
    std::latch start(2);
    const auto work = [&] {
      Context context = engine.create_context();
      start.arrive_and_wait();
      for (int i = 0; i < 2000 && (i < 10 || most_custom_instances_at_work() < 2); ++i)
        EXPECT_EQ(answer(context, x), numbers(x));
    };
    std::jthread one(work), two(work);
    one.join();
    two.join();
    EXPECT_GE(most_custom_instances_at_work(), 2);
    EXPECT_GT(custom_instances(), before);
  }
  EXPECT_EQ(custom_instances(), before) << "an instance was not destroyed";
}

class CustomPlan : public testing::Test {
protected:
  std::filesystem::path saved() const {
    const std::filesystem::path path = folder / "custom.plan";
    built(scaling_model(), options()).save(path);
    return path;
  }
  LoadOptions load_options() const {
    LoadOptions load;
    load.environment = with_custom_operators();
    load.threads = 1;
    return load;
  }
  const TemporaryFolder folder;
};

TEST_F(CustomPlan, NamesItsOperatorsAndRuns) {
  const Heard heard;
  const Engine engine = Engine::load(saved(), load_options());
  EXPECT_TRUE(heard.lines().empty()) << heard.lines().front();
  EXPECT_NE(engine.lowered_ir().find("tactic(\"custom\", \"own.Scale\""), std::string::npos);
  Context context = engine.create_context();
  const Tensor x = ramp({2, 3, 4, 5}, -10);
  EXPECT_EQ(answer(context, x), scaled(numbers(x)));
  EXPECT_TRUE(verified(engine));
  engine.save(folder / "again.plan");
  EXPECT_TRUE(verified(Engine::load(folder / "again.plan", load_options())));
}

TEST_F(CustomPlan, NamesTheMissingOperator) {
  LANNER_EXPECT_ERROR(
      Engine::load(saved()), ErrorCode::unsupported,
      "the plan needs the operator own.Scale (version 1), which the environment lacks; load the "
      "plug-in that provides it");
  LANNER_EXPECT_ERROR(built(scaling_model(), {}), ErrorCode::unsupported, "own.Scale");
}

/// The operator's state is in the plan, as the config of its tactic.
TEST_F(CustomPlan, RestoresTheOperatorsState) {
  const Engine engine = Engine::load(saved(), load_options());
  const EngineState& state = state_of(engine);
  const auto made = state.shown().variant;
  std::size_t found = 0;
  for (const auto& node : made->program->graph().body().nodes())
    if (node->tactic.kernel == "own.Scale") {
      ++found;
      ASSERT_EQ(node->tactic.config.size(), 8 + 4 + sizeof(double));
      EXPECT_EQ(std::memcmp(node->tactic.config.data() + 8, "own1", 4), 0);
    }
  EXPECT_EQ(found, 1U) << engine.lowered_ir();
}

TEST(CustomPlugin, RejectsOtherFiles) {
  Environment environment;
  const TemporaryFolder folder;
  LANNER_EXPECT_ERROR(environment.load_plugin(folder / "absent.so"), ErrorCode::not_found, "absent.so");
  LANNER_EXPECT_ERROR(environment.load_plugin(folder.write("text.so", "no library")), ErrorCode::bad_data,
                      "text.so");
  LANNER_EXPECT_ERROR(environment.load_plugin("/proc/self/exe"), ErrorCode::bad_data, "/proc/self/exe");
  EXPECT_TRUE(environment.operators().empty());
  environment.load_plugin(custom_operators_plugin());
  EXPECT_EQ(environment.operators(),
            (std::vector<std::string>{"own.Positives 1", "own.Ramp 1", "own.Scale 1"}));
  LANNER_EXPECT_ERROR(environment.load_plugin(custom_operators_plugin()), ErrorCode::invalid_argument,
                      "operator own.Scale: the name is taken");
}

} // namespace
} // namespace lanner
