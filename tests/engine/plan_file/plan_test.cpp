#include <algorithm>
#include <random>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/plan_file/plan_parts.h"
#include "engine/shapes_network.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "file_content.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

using test::content_of;
using test::Parts;
using test::shapes_engine;
using test::waves;

Engine load_text(const std::string& content) {
  auto held = std::make_shared<std::string>(content);
  return Engine::load(open_bytes(std::as_bytes(std::span(*held)), held, "plan"));
}

class Plan : public testing::Test {
protected:
  void SetUp() override { shapes_engine().save(plan()); }
  std::filesystem::path plan() const { return folder / "shapes.plan"; }
  TemporaryFolder folder;
};

TEST_F(Plan, GivesTheSameAnswersAsTheEngineThatWroteIt) {
  const Engine built = shapes_engine(), loaded = Engine::load(plan());
  Context a = built.create_context(), b = loaded.create_context();
  const auto x = a({{"input", waves()}}), y = b({{"input", waves()}});
  for (const auto& [name, item] : x)
    EXPECT_TRUE(std::ranges::equal(item.tensor.as<float>(), y.at(name).tensor.as<float>())) << name;
  EXPECT_EQ(built.ir(), loaded.ir());
  EXPECT_EQ(built.metadata(), loaded.metadata());
}

TEST_F(Plan, DeterministicBuildsAreByteEqual) {
  shapes_engine().save(folder / "again.plan");
  EXPECT_EQ(content_of(plan()), content_of(folder / "again.plan"));
}

TEST_F(Plan, DeterministicBuildsStoreNoBudget) {
  std::vector<std::string> plans;
  for (const double budget : {0.0, 5.0}) {
    BuildOptions options = test::plain_options();
    options.budget = budget;
    options.deterministic = true;
    const std::string bytes = test::onnx_file::varied_model();
    test::built(bytes, options).save(folder / "varied.plan");
    plans.push_back(content_of(folder / "varied.plan"));
  }
  EXPECT_EQ(plans[0], plans[1]);
}

TEST_F(Plan, PaddingIsZero) {
  const std::string bytes = content_of(plan());
  const Safetensors file = Safetensors::open(open_path(plan()));
  ASSERT_FALSE(file.pads().empty());
  const std::size_t data = bytes.size() - static_cast<std::size_t>(file.entries().back().end);
  std::string damaged = bytes;
  damaged[data + static_cast<std::size_t>(file.pads()[0].begin)] = 1;
  LANNER_EXPECT_ERROR(load_text(damaged), ErrorCode::bad_data, "__pad_0 is not zero");
}

TEST_F(Plan, PlansAndModelsAreDistinguished) {
  LANNER_EXPECT_ERROR(Engine::build(plan()), ErrorCode::bad_data,
                      "it is a Lanner plan, already built; use load");
  LANNER_EXPECT_ERROR(load_text(test::onnx_file::varied_model()), ErrorCode::bad_data,
                      "not a plan: it looks like a model of format ONNX; use build");
}

TEST_F(Plan, SavingLeavesNoOtherFile) {
  EXPECT_EQ(folder.entries(), 1u);
}

TEST_F(Plan, ServesOtherThreadCounts) {
  const Engine loaded = Engine::load(plan());
  Context context = loaded.create_context({.threads = 2, .profile = false});
  EXPECT_EQ(context({{"input", waves()}}).at("scores").tensor.shape()[2], 6);
}

/// Convolutions of any batch, large enough for kernels with packed weights.
Engine conv_engine() {
  using namespace test::onnx_file;
  std::vector<Message> nodes, weights;
  for (const std::int64_t i : {0, 1, 2}) {
    const std::int64_t channels = i == 0 ? 16 : 32;
    std::vector<float> numbers(static_cast<std::size_t>(32 * channels * 3 * 3));
    for (std::size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = 0.01F * static_cast<float>((k + static_cast<std::size_t>(i)) % 37) - 0.1F;
    weights.push_back(floats(fmt::format("w{}", i), {32, channels, 3, 3}, numbers));
    nodes.push_back(
        node({"Conv", {fmt::format("v{}", i), fmt::format("w{}", i)}, {fmt::format("v{}", i + 1)}}));
  }
  const std::string file = model(graph({.nodes = nodes,
                                        .inputs = {value("v0", f32, {"N", "16", "24", "24"})},
                                        .outputs = {value("v3", f32, {"N", "32", "18", "18"})},
                                        .constants = weights}));
  return test::built(file, test::plain_options());
}

TEST(PlanOfWeights, IsEqualWhenLoadedAndSavedAgain) {
  const TemporaryFolder folder;
  const Engine built = conv_engine();
  built.save(folder / "first.plan");
  const Engine loaded = Engine::load(folder / "first.plan");
  loaded.save(folder / "second.plan");
  EXPECT_EQ(content_of(folder / "first.plan"), content_of(folder / "second.plan"));
  EXPECT_EQ(built.ir(), loaded.ir());
}

TEST(PlanOfWeights, ServesShapesThatItWasNotTunedFor) {
  const TemporaryFolder folder;
  const Engine built = conv_engine();
  built.save(folder / "conv.plan");
  const Engine loaded = Engine::load(folder / "conv.plan");
  Tensor input = Tensor::allocate(DType::f32, {3, 16, 24, 24});
  float next = -1;
  for (float& number : input.as<float>()) number = next += 0.00003F;
  Context a = built.create_context(), b = loaded.create_context();
  const auto x = a({{"v0", input}}).at("v3").tensor, y = b({{"v0", input}}).at("v3").tensor;
  EXPECT_TRUE(std::ranges::equal(x.as<float>(), y.as<float>()));
}

TEST_F(Plan, ChangedByteIsRejected) {
  const std::string whole = content_of(plan());
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    std::string changed = whole;
    changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
    EXPECT_THROW(load_text(changed), Error) << i;
  }
}

TEST_F(Plan, TruncatedPlanIsRejected) {
  const std::string whole = content_of(plan());
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_THROW(load_text(whole.substr(0, whole.size() * i / 50)), Error) << i;
}

TEST_F(Plan, ContentIsCheckedDespiteAValidDigest) {
  const std::vector<std::array<std::string, 3>> attacks{
      {"lowered", "320\\]", "32000]"},      // another size of the input
      {"lowered", "onednn", "interpreter"}, // blocked values for the interpreter
      {"lowered", "onednn", "alias"},       // nodes that would not compute
      {"lowered", "= conv\\(", "= relu("},  {"lowered", "\"w1\"", "\"w2\""}, // weights of another shape
      {"ir", "\"w1\"", "\"none\""},         {"ir", "symbol", "simbol"},
      {"reports", "\"node\"", "\"none\""},
  };
  for (const auto& [part, from, to] : attacks) {
    Parts parts(plan());
    const std::string changed = std::regex_replace(parts.content.at(part), std::regex(from), to);
    if (changed == parts.content.at(part)) continue; // this machine's kernels have no such storage
    parts.content[part] = changed;
    parts.write(folder / "changed.plan");
    EXPECT_THROW(Engine::load(folder / "changed.plan"), Error) << part << ": " << from << " -> " << to;
  }
}

TEST_F(Plan, WrongTablesAreRejected) {
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"lanner.plan", "99"},
                                          {"lanner.weights", "{}"},
                                          {"lanner.weights", "[1, 2"},
                                          {"lanner.target", "{}"},
                                          {"lanner.target", "{\"device\": \"cuda:0\"}"}}) {
    Parts parts(plan());
    parts.metadata[key] = value;
    parts.write(folder / "changed.plan");
    EXPECT_THROW(Engine::load(folder / "changed.plan"), Error) << key << " = " << value;
  }
}

TEST_F(Plan, IsTunedAgainOnAnotherCpu) {
  Parts parts(plan());
  parts.metadata["lanner.target"] = std::regex_replace(
      parts.metadata["lanner.target"], std::regex("\"isa\":\"[^\"]*\""), "\"isa\":\"another\"");
  parts.write(folder / "foreign.plan");
  const Engine foreign = Engine::load(folder / "foreign.plan"), own = Engine::load(plan());
  Context a = foreign.create_context(), b = own.create_context();
  const Tensor x = a({{"input", waves()}}).at("scores").tensor,
               y = b({{"input", waves()}}).at("scores").tensor;
  for (std::size_t i = 0; i < x.as<float>().size(); ++i)
    ASSERT_NEAR(x.as<float>()[i], y.as<float>()[i], 1e-4f);
}

TEST(PlanOfNothing, EmptyFileIsRejected) {
  LANNER_EXPECT_ERROR(load_text(""), ErrorCode::bad_data, "load plan: ");
  LANNER_EXPECT_ERROR(Engine::load(std::filesystem::path("absent.plan")), ErrorCode::not_found,
                      "absent.plan");
}

} // namespace
} // namespace lanner
