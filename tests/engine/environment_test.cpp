// Environments as values, and their backends and caches.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/environment.h>

#include "backends/backends.h"
#include "engine/custom_operators.h"
#include "engine/heard.h"
#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "importers/onnx_file.h"
#include "program/lowered/lowered.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test;
using namespace test::onnx_file;

std::string product(std::int64_t size = 256) {
  const std::string text = std::to_string(size);
  std::vector<float> weights(static_cast<std::size_t>(size * size), 0.5F);
  return model(graph({.nodes = {node({"MatMul", {"x", "w"}, {"p"}}), node({"Exp", {"p"}, {"y"}})},
                      .inputs = {value("x", f32, {text, text})},
                      .outputs = {value("y", f32, {text, text})},
                      .constants = {floats("w", {size, size}, weights)}}));
}

BuildOptions options(const Environment& environment, int threads = 1) {
  BuildOptions options;
  options.environment = environment;
  options.budget = 0;
  options.threads = threads;
  return options;
}

TEST(Environment, IsNotChangedThroughCopies) {
  Environment first;
  const Environment none = first;
  first.load_plugin(custom_operators_plugin());
  const Environment second = first;
  first.set_cache_folder("elsewhere");
  EXPECT_TRUE(none.operators().empty());
  EXPECT_EQ(second.operators().size(), 3U);
  EXPECT_EQ(first.operators().size(), 3U);
}

TEST(Environment, KeepsTimingsInItsFolder) {
  const TemporaryFolder folder;
  Environment environment;
  environment.set_cache_folder(folder / "caches");
  BuildOptions wanted = options(environment);
  wanted.budget = 0.1;
  built(product(64), wanted);
  EXPECT_TRUE(std::filesystem::exists(folder / "caches" / "timing.txt"));
}

/// Kernels of every kind: a convolution with its activation, pooling, a product, a softmax, a sort.
std::string classifier() {
  const auto weights = [](std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 13) * 0.01F - 0.05F;
    return values;
  };
  return model(graph(
      {.nodes = {node(
                     {"Conv", {"x", "w"}, {"c"}, {attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})}}),
                 node({"Relu", {"c"}, {"r"}}),
                 node({"MaxPool",
                       {"r"},
                       {"p"},
                       {attribute("kernel_shape", std::vector<std::int64_t>{2, 2}),
                        attribute("strides", std::vector<std::int64_t>{2, 2})}}),
                 node({"Flatten", {"p"}, {"f"}}), node({"Gemm", {"f", "v", "b"}, {"g"}}),
                 node({"Softmax", {"g"}, {"s"}}), node({"TopK", {"s", "k"}, {"y", "at"}})},
       .inputs = {value("x", f32, {"2", "3", "8", "8"})},
       .outputs = {value("y", f32, {"2", "4"}), value("at", i64, {"2", "4"})},
       .constants = {floats("w", {16, 3, 3, 3}, weights(432)), floats("v", {256, 10}, weights(2560)),
                     floats("b", {10}, weights(10)), integers("k", {1}, {4})}}));
}

struct Answers {
  std::vector<float> scores;
  std::vector<std::int64_t> classes;
};

Answers answers(const Engine& engine) {
  Context context = engine.create_context();
  Tensor picture = ramp({2, 3, 8, 8}, -190);
  for (float& number : picture.as<float>()) number *= 0.02F;
  context.bind("x", picture);
  context.run();
  const Tensor classes = context.output("at").tensor;
  return {numbers(context.output("y").tensor),
          {classes.as<std::int64_t>().begin(), classes.as<std::int64_t>().end()}};
}

/// Backends of the kernels for its opt shapes.
std::set<std::string> used(const Engine& engine) {
  const EngineState& state = state_of(engine);
  const auto made = state.shown().variant;
  std::set<std::string> names;
  for (const auto& node : made->program->graph().body().nodes())
    if (node->kind() != "constant" && node->tactic.backend != alias_backend)
      names.insert(node->tactic.backend);
  return names;
}

bool has_onednn() {
  return std::ranges::any_of(backend_statuses(),
                             [](const BackendStatus& one) { return one.name == "onednn" && one.found; });
}

TEST(EnvironmentBackends, AreKnownByName) {
  Environment environment;
  const std::vector<std::string> all{"cuda", "onednn", "cpu", "reference"};
  EXPECT_EQ(environment.backends(), all);
  environment.set_backends({"reference", "cpu", "cpu"});
  EXPECT_EQ(environment.backends(), (std::vector<std::string>{"cpu", "reference"}));
  LANNER_EXPECT_ERROR(environment.set_backends({"cpu", "mkl"}), ErrorCode::invalid_argument,
                      "unknown backend 'mkl'; expected cuda, onednn, cpu, reference");
  EXPECT_EQ(environment.backends().size(), 2U);
  environment.set_backends({});
  EXPECT_EQ(environment.backends(), all);
}

TEST(EnvironmentBackends, ProvideTheKernels) {
  const Answers right = answers(built(classifier(), options(Environment())));
  std::vector<std::vector<std::string>> sets{{"reference"}, {"cpu"}, {"cuda", "cpu"}};
  if (has_onednn()) sets.insert(sets.end(), {{"onednn"}, {"cpu", "onednn"}});
  for (const std::vector<std::string>& names : sets)
    for (const double budget : {0.0, 0.2}) {
      SCOPED_TRACE(testing::PrintToString(names));
      Environment environment;
      environment.set_backends(names);
      BuildOptions wanted = options(environment, 2);
      wanted.budget = budget;
      const Engine engine = built(classifier(), wanted);
      for (const std::string& name : used(engine))
        EXPECT_TRUE(name == "reference" || std::ranges::find(names, name) != names.end()) << name;
      if (names.size() == 1) {
        EXPECT_TRUE(used(engine).contains(names[0]));
      }
      const Answers got = answers(engine);
      for (std::size_t i = 0; i < right.scores.size(); ++i)
        EXPECT_NEAR(got.scores[i], right.scores[i], 1e-5F);
      EXPECT_EQ(got.classes, right.classes);
    }
}

TEST(EnvironmentBackends, OfALoadMayBeFewerThanThePlans) {
  const TemporaryFolder folder;
  Environment own, definitions;
  own.set_backends({"cpu"});
  definitions.set_backends({"reference"});
  const Engine engine = built(classifier(), options(own));
  engine.save(folder / "m.plan");
  Heard heard;
  LoadOptions load;
  load.environment = own;
  EXPECT_EQ(used(Engine::load(folder / "m.plan", load)), used(engine));
  EXPECT_TRUE(heard.lines().empty());
  load.environment = definitions;
  const Engine loaded = Engine::load(folder / "m.plan", load);
  EXPECT_EQ(used(loaded), (std::set<std::string>{"reference"}));
  ASSERT_EQ(heard.lines().size(), 1U);
  EXPECT_NE(heard.lines()[0].find("tuned again"), std::string::npos);
  EXPECT_NE(heard.lines()[0].find("no backend here offers kernel cpu:"), std::string::npos);
  EXPECT_EQ(answers(loaded).classes, answers(engine).classes);
}

TEST(EnvironmentBackends, IncludeThoseOfCustomOperators) {
  Environment environment = with_custom_operators();
  environment.set_backends({"reference"});
  EXPECT_TRUE(used(built(scaling_model(), options(environment))).contains("custom"));
}

TEST(EnvironmentBackends, MustServeTheDevice) {
  Environment environment;
  environment.set_backends({"cpu", "reference"});
  BuildOptions wanted = options(environment);
  wanted.device = {DeviceKind::cuda, 0};
  LANNER_EXPECT_ERROR(built(classifier(), wanted), ErrorCode::invalid_argument,
                      "device cuda:0 needs the backend cuda, but the environment has only cpu, "
                      "reference");
  const TemporaryFolder folder;
  built(classifier(), options(environment)).save(folder / "m.plan");
  LoadOptions load;
  load.environment = environment;
  load.device = Device{DeviceKind::cuda, 0};
  LANNER_EXPECT_ERROR(Engine::load(folder / "m.plan", load), ErrorCode::invalid_argument,
                      "device cuda:0 needs the backend cuda");
}

} // namespace
} // namespace lanner
