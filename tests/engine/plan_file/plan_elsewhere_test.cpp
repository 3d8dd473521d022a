// Plans on machines unlike the one that they were built on: fewer cores, other kernels, another processor;
// and files that change while in use.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/heard.h"
#include "engine/plan_file/plan_parts.h"
#include "engine/shapes_network.h"
#include "engine/small_models.h"
#include "engine/told.h"
#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using test::Heard;
using test::Parts;
using test::shapes_engine;
using test::waves;

std::vector<std::string> notes(const Engine& engine) {
  return test::told(engine)["notes"].get<std::vector<std::string>>();
}

Tensor scores(const Engine& engine, int threads = 0) {
  Context context = engine.create_context({.threads = threads, .profile = false});
  return context({{"input", waves()}}).at("scores").tensor;
}

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (std::size_t i = 0; i < a.as<float>().size(); ++i)
    ASSERT_NEAR(a.as<float>()[i], b.as<float>()[i], 1e-4F) << "element " << i;
}

/// Products of several sizes: their kernels depend on the number of threads most.
std::string products() {
  using namespace test::onnx_file;
  std::vector<Message> nodes, weights;
  const std::vector<std::int64_t> sizes{256, 512, 64, 1000};
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    std::vector<float> numbers(static_cast<std::size_t>(sizes[i] * sizes[i + 1]));
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = 0.001F * static_cast<float>(k % 91) - 0.04F;
    weights.push_back(floats(fmt::format("w{}", i), {sizes[i], sizes[i + 1]}, numbers));
    nodes.push_back(
        node({"MatMul", {fmt::format("v{}", i), fmt::format("w{}", i)}, {fmt::format("p{}", i)}}));
    nodes.push_back(node({"Relu", {fmt::format("p{}", i)}, {fmt::format("v{}", i + 1)}}));
  }
  return model(graph({.nodes = nodes,
                      .inputs = {value("v0", f32, {"32", "256"})},
                      .outputs = {value("v3", f32, {"32", "1000"})},
                      .constants = weights}));
}

Engine products_engine(int threads) {
  BuildOptions options = test::plain_options();
  options.deterministic = true;
  options.threads = threads;
  return test::built(products(), options);
}

Tensor product(const Engine& engine, int threads = 0) {
  Tensor input = Tensor::allocate(DType::f32, {32, 256});
  float next = 0;
  for (float& number : input.as<float>()) number = next = next > 1 ? -1 : next + 0.07F;
  Context context = engine.create_context({.threads = threads, .profile = false});
  return context({{"v0", input}}).at("v3").tensor;
}

TEST(PlanElsewhere, RunsWithMoreOrFewerThreadsThanItWasBuiltFor) {
  const TemporaryFolder folder;
  const Tensor wanted = product(products_engine(1));
  for (const int built : {1, 2, 3}) {
    const Engine engine = products_engine(built);
    engine.save(folder / "products.plan");
    for (const int used : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("built for {} threads, used with {}", built, used));
      LoadOptions options;
      options.threads = used;
      const Engine loaded = Engine::load(folder / "products.plan", options);
      EXPECT_EQ(loaded.threads(), used);
      expect_near(product(loaded), wanted);
      expect_near(product(engine, used), wanted);
    }
  }
}

TEST(PlanElsewhere, ConvolutionsRunWithOtherThreadCounts) {
  const TemporaryFolder folder;
  shapes_engine(2).save(folder / "shapes.plan");
  for (const int used : {1, 3}) {
    LoadOptions options;
    options.threads = used;
    expect_near(scores(Engine::load(folder / "shapes.plan", options)), scores(shapes_engine()));
  }
}

/// The plan of shapes_engine(), its lowered graph changed.
void write_changed(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  shapes_engine().save(path);
  Parts parts(path);
  std::string& lowered = parts.content.at("lowered");
  lowered = std::regex_replace(lowered, std::regex(from), to);
  parts.write(path);
}

TEST(PlanElsewhere, UnavailableKernelsAreChosenAnewWithAWarning) {
  const TemporaryFolder folder;
  write_changed(folder / "changed.plan", "tactic\\(\"(onednn|cpu|reference)\"", "tactic(\"elsewhere\"");
  const Heard heard;
  const Engine loaded = Engine::load(folder / "changed.plan");
  expect_near(scores(loaded), scores(shapes_engine()));
  ASSERT_EQ(notes(loaded).size(), 1u);
  EXPECT_NE(notes(loaded)[0].find("tuned again from its IR"), std::string::npos) << notes(loaded)[0];
  EXPECT_NE(notes(loaded)[0].find("no backend here offers kernel elsewhere:"), std::string::npos);
  ASSERT_EQ(heard.lines().size(), 1u);
  EXPECT_NE(heard.lines()[0].find(notes(loaded)[0]), std::string::npos) << heard.lines()[0];
  EXPECT_NE(heard.lines()[0].find("changed.plan"), std::string::npos);
}

/// Damage that looks like another machine's choice: rejected, or chosen anew with right results.
TEST(PlanElsewhere, UnavailableStoragesAreRejectedOrChosenAnew) {
  const TemporaryFolder folder;
  const Tensor wanted = scores(shapes_engine());
  for (const auto& [from, to] : {std::pair("aBcd16b", "aBcd8b"), {"acdb", "abdc"}, {"row", "acdb"}}) {
    write_changed(folder / "changed.plan", from, to);
    try {
      expect_near(scores(Engine::load(folder / "changed.plan")), wanted);
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::bad_data)) << error.message();
    }
  }
}

TEST(PlanElsewhere, OfAnotherProcessorWarns) {
  const TemporaryFolder folder;
  shapes_engine().save(folder / "shapes.plan");
  Parts parts(folder / "shapes.plan");
  parts.metadata["lanner.target"] = std::regex_replace(
      parts.metadata["lanner.target"], std::regex("\"isa\":\"[^\"]*\""), "\"isa\":\"another\"");
  parts.write(folder / "foreign.plan");
  const Heard heard;
  const Engine loaded = Engine::load(folder / "foreign.plan");
  expect_near(scores(loaded), scores(shapes_engine()));
  ASSERT_EQ(notes(loaded).size(), 1u);
  EXPECT_NE(notes(loaded)[0].find("built on another kind of processor (another)"), std::string::npos);
  EXPECT_EQ(heard.lines().size(), 1u);
}

TEST(PlanElsewhere, ConstantMustFitItsStorage) {
  const TemporaryFolder folder;
  shapes_engine().save(folder / "shapes.plan");
  Parts parts(folder / "shapes.plan");
  std::string& lowered = parts.content.at("lowered");
  // An unused constant, in blocks that would take all memory.
  lowered.insert(lowered.find("\n  %") + 1,
                 "  %unread: f32[1, 1] @ AB65535a65535b65535a = constant() {value = f32[1, 1](0.0)}\n");
  parts.write(folder / "changed.plan");
  LANNER_EXPECT_ERROR(Engine::load(folder / "changed.plan"), ErrorCode::bad_data,
                      "layout AB65535a65535b65535a does not fit shape [1, 1]");
}

/// Overwrites the same inode, as `cp` does.
void overwrite(const std::filesystem::path& path, std::size_t bytes) {
  std::ofstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .write(std::string(bytes, 'x').data(), bytes);
}

TEST(PlanElsewhere, PlanReplacedOrTruncatedWhileInUseStaysValid) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "products.plan";
  const Tensor wanted = product(products_engine(1));
  products_engine(1).save(path);
  const Engine replaced = Engine::load(path);
  overwrite(path, std::filesystem::file_size(path));
  expect_near(product(replaced), wanted);
  products_engine(1).save(path);
  const Engine cut = Engine::load(path);
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  expect_near(product(cut), wanted);
}

TEST(PlanElsewhere, ModelTruncatedDuringTheBuildIsBuiltUnchanged) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("products.onnx", products());
  const Tensor wanted = product(products_engine(1));
  BuildOptions options;
  options.budget = 0;
  options.threads = 1;
  options.control.progress = [&](const ProgressUpdate& update) {
    const int failed = update.stage == "tune" ? ::truncate(path.c_str(), 10) : 0;
    EXPECT_EQ(failed, 0);
  };
  expect_near(product(Engine::build(path, options)), wanted);
  EXPECT_EQ(std::filesystem::file_size(path), 10u);
}

} // namespace
} // namespace lanner
