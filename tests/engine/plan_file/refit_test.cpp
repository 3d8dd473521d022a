// Refitted engines and stripped plans, compared with engines built with the same weights.

#include <atomic>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "engine/plan_file/weighted_engine.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace lanner::test {
namespace {

/// A convolution with folded batch normalisation, one with plain weights, a product with transposed weights.
std::string picture_network(int seed) {
  std::string text = "graph @net(%x: f32[1, 3, 8, 8]) -> (%y as \"y\") {\n";
  text += weight("w", "f32[16, 3, 3, 3]", seed) + weight("gamma", "f32[16]", seed + 1) +
          weight("beta", "f32[16]", seed + 2) + weight("mean", "f32[16]", seed + 3) +
          weight("root", "f32[16]", seed + 4) + weight("last", "f32[10, 16]", seed + 5) +
          weight("bias", "f32[10]", seed + 6);
  return text + R"(
  %variance: f32[16] = mul(%root, %root)
  %c: f32[*] = conv(%x, %w)
  %n: f32[*] = batch_normalization(%c, %gamma, %beta, %mean, %variance)
  %r: f32[*] = relu(%n)
  %p: f32[*] = global_average_pool(%r)
  %f: f32[*] = flatten(%p)
  %y: f32[*] = gemm(%f, %last, %bias) {transB = 1, alpha = 0.5}
})";
}

const std::vector<std::string> picture_weights{"w", "gamma", "beta", "mean", "root", "last", "bias"};

std::vector<Item> picture() {
  return {waves({1, 3, 8, 8})};
}

TEST(Refit, OfFoldedWeightsEqualsANewBuild) {
  const Engine first = weighted_engine(picture_network(1)), second = weighted_engine(picture_network(50));
  const auto before = run(first, picture());
  const Engine made = first.refit(values_of(picture_network(50), picture_weights));
  expect_equal(run(made, picture()), run(second, picture()));
  expect_equal(run(first, picture()), before);
  expect_as_defined(made, picture());
  EXPECT_EQ(lowered(made).node_count(), lowered(first).node_count());
}

TEST(Refit, OfSomeWeightsKeepsTheOthers) {
  const std::string mixed = [] {
    std::string text = picture_network(1), other = picture_network(50);
    const auto line = [](const std::string& all, std::string_view name) {
      const std::size_t begin = all.find(fmt::format("  %{}:", name));
      return all.substr(begin, all.find('\n', begin) - begin);
    };
    for (const std::string_view name : {"bias", "last"})
      text.replace(text.find(line(text, name)), line(text, name).size(), line(other, name));
    return text;
  }();
  const Engine first = weighted_engine(picture_network(1));
  const Engine made = first.refit(values_of(picture_network(50), {"bias", "last"}));
  expect_equal(run(made, picture()), run(weighted_engine(mixed), picture()));
}

TEST(Refit, CanBeRepeatedAndReverted) {
  const Engine first = weighted_engine(picture_network(1));
  const Engine there = first.refit(values_of(picture_network(50), picture_weights));
  const Engine back = there.refit(values_of(picture_network(1), picture_weights));
  expect_equal(run(back, picture()), run(first, picture()));
}

TEST(Refit, NamesTheFault) {
  const Engine engine = weighted_engine(picture_network(1));
  const Tensor vector = waves({16}), number = waves({1});
  LANNER_EXPECT_ERROR(engine.refit({{"gama", vector}}), ErrorCode::not_found,
                      "refit net: the engine has no weight 'gama'; did you mean gamma?");
  LANNER_EXPECT_ERROR(engine.refit({{"gamma", number}}), ErrorCode::invalid_argument,
                      "weight 'gamma': expected f32[16], got f32[1]");
  Tensor halves = Tensor::zeros(DType::f16, {16});
  LANNER_EXPECT_ERROR(engine.refit({{"gamma", halves}}), ErrorCode::invalid_argument, "got f16[16]");
}

std::string wide_network(int seed) {
  std::string text = "graph @net(%x: f32[1, 64, 3, 3]) -> (%y as \"y\") {\n";
  text += weight("w", "f32[64, 64, 3, 3]", seed) + weight("scale", "f32[64, 1, 1]", seed + 1);
  return text + "  %c: f32[*] = conv(%x, %w)\n  %y: f32[*] = mul(%c, %scale)\n}";
}

TEST(Refit, OfAFoldedWeightAsksForAnUnstoredOne) {
  const Engine engine = weighted_engine(wide_network(1));
  const std::vector<Item> inputs{waves({1, 64, 3, 3})};
  LANNER_EXPECT_ERROR(engine.refit(values_of(wide_network(50), {"scale"})), ErrorCode::invalid_argument,
                      "weight 'scale' became one constant with w, which is not kept by itself: give it too");
  expect_equal(run(engine.refit(values_of(wide_network(50), {"scale", "w"})), inputs),
               run(weighted_engine(wide_network(50)), inputs));
}

TEST(Refit, OfAWeightWithSeveralReaders) {
  const auto text = [](int seed) {
    return "graph @net(%ids: i64[5], %n: i64[]) -> (%y as \"y\", %z as \"z\") {\n" +
           weight("table", "f32[40, 8]", seed) + weight("m", "f32[8, 8]", seed + 1) + R"(
  %rows: f32[5, 8] = gather(%table, %ids) {axis = 0}
  %a: f32[5, 8] = matmul(%rows, %m)
  %b: f32[5, 8] = matmul(%a, %m)
  %y: f32[5, 8] = add(%b, %rows)
  %yes: bool[] = constant() {value = bool[](true)}
  %z: f32[5, 8] = loop(%n, %yes, %rows; %m) ((%i: i64[], %go: bool[], %v: f32[5, 8], %mi: f32[8, 8]) -> (%go, %next) {
    %p: f32[5, 8] = matmul(%v, %mi)
    %next: f32[5, 8] = tanh(%p)
  })
})";
  };
  Tensor ids = Tensor::allocate(DType::i64, {5});
  std::int64_t next = 0;
  for (std::int64_t& id : ids.as<std::int64_t>()) id = next += 7;
  const std::vector<Item> inputs{ids, Tensor::scalar(std::int64_t{3})};
  const Engine first = weighted_engine(text(1));
  const Engine made = first.refit(values_of(text(50), {"table", "m"}));
  expect_equal(run(made, inputs), run(weighted_engine(text(50)), inputs));
  expect_as_defined(made, inputs);
}

TEST(Refit, OfWeightsInBlocksOfRows) {
  const auto text = [](int seed) {
    return "graph @main(%flags: f32[20], %x: f32[20, 4]) -> (%y as \"y\") {\n" +
           weight("w", "f32[4, 8]", seed) + R"(
  %chosen: bool[20] = cast(%flags) {to = bool}
  %rows: f32[*] = compress(%x, %chosen) {axis = 0}
  %y: f32[*] = matmul(%rows, %w)
})";
  };
  Tensor flags = Tensor::zeros(DType::f32, {20});
  for (std::size_t i = 0; i < 20; i += 3) flags.as<float>()[i] = 1;
  const std::vector<Item> inputs{flags, waves({20, 4})};
  const Engine made = weighted_engine(text(1)).refit(values_of(text(50), {"w"}));
  EXPECT_TRUE(any_node(lowered(made).body(), "row_blocks", "program"));
  expect_equal(run(made, inputs), run(weighted_engine(text(50)), inputs));
}

TEST(Refit, WeightsThatDecidedTheGraphAreRejected) {
  const std::string text = "graph @net(%x: f32[2, 3]) -> (%y as \"y\", %z as \"z\") {\n"
                           "  %one: f32[] = constant() {weight = \"one\", value = f32[](1.0)}\n"
                           "  %m: f32[2, 3] = mul(%x, %one)\n  %y: f32[2, 3] = relu(%m)\n"
                           "  %z: f32[2, 3] = sub(%one, %x)\n}";
  const Engine engine = weighted_engine(text);
  EXPECT_TRUE(engine.weights().empty());
  LANNER_EXPECT_ERROR(engine.refit({{"one", Tensor::scalar(2.0F)}}), ErrorCode::invalid_argument,
                      "weight 'one': its values decided how the network is computed");
}

TEST(Refit, EqualWeightsStaySeparate) {
  const std::string text = "graph @net(%x: f32[2, 4]) -> (%y as \"y\") {\n"
                           "  %a: f32[4] = constant() {weight = \"a\", value = f32[4](1.0, 2.0, 3.0, 4.0)}\n"
                           "  %b: f32[4] = constant() {weight = \"b\", value = f32[4](1.0, 2.0, 3.0, 4.0)}\n"
                           "  %p: f32[2, 4] = mul(%x, %a)\n  %r: f32[2, 4] = relu(%p)\n"
                           "  %y: f32[2, 4] = mul(%r, %b)\n}";
  const Engine made =
      weighted_engine(text).refit({{"b", Tensor::from<float>(std::vector{0.F, 1.F, 0.F, 2.F}, {4})}});
  const Tensor ones = Tensor::from<float>(std::vector<float>(8, 1.F), {2, 4});
  EXPECT_TRUE(std::ranges::equal(run(made, {ones})[0].tensor.as<float>(),
                                 std::vector<float>{0, 2, 0, 8, 0, 2, 0, 8}));
}

TEST(Refit, ContextsOfTheOldEngineRunMeanwhile) {
  const Engine first = weighted_engine(picture_network(1));
  const auto want = run(first, picture());
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      Context context = first.create_context();
      do {
        const auto got = context(named(first, picture()));
        EXPECT_TRUE(std::ranges::equal(got.at("y").tensor.as<float>(), want[0].tensor.as<float>()));
      } while (!done);
    });
  for (int seed = 50; seed < 58; ++seed)
    run(first.refit(values_of(picture_network(seed), picture_weights)), picture());
  done = true;
  for (std::thread& thread : threads) thread.join();
}

class Stripped : public testing::Test {
protected:
  void SetUp() override {
    engine.save(folder / "whole.plan");
    engine.save(folder / "stripped.plan", {.weights = false});
  }
  Engine load(const SourcePtr& weights) const {
    LoadOptions options;
    options.weights = weights;
    return Engine::load(folder / "stripped.plan", options);
  }
  std::filesystem::path safetensors(const std::string& text, const std::vector<std::string>& names) const {
    std::vector<SafetensorsItem> items;
    const WeightValues values = values_of(text, names);
    for (const auto& [name, tensor] : values) items.push_back(safetensors_item(name, tensor));
    write_safetensors(folder / "weights.safetensors", items, {});
    return folder / "weights.safetensors";
  }

  TemporaryFolder folder;
  Engine engine = weighted_engine(wide_network(1));
  std::vector<Item> inputs{waves({1, 64, 3, 3})};
};

TEST_F(Stripped, ContainsNoWeights) {
  EXPECT_LT(std::filesystem::file_size(folder / "stripped.plan"), 16u << 10);
  EXPECT_GT(std::filesystem::file_size(folder / "whole.plan"), 64u * 64 * 9 * 4);
}

TEST_F(Stripped, LoadsWeightsFromEachKindOfFile) {
  const auto want = run(engine, inputs);
  expect_equal(run(load(open_path(folder / "whole.plan")), inputs), want);
  expect_equal(run(load(open_path(safetensors(wide_network(1), {"w", "scale"}))), inputs), want);
}

TEST_F(Stripped, CanBeSavedWholeAgainAndRefitted) {
  load(open_path(folder / "whole.plan")).save(folder / "again.plan");
  const Engine again = Engine::load(folder / "again.plan");
  expect_equal(run(again, inputs), run(engine, inputs));
  expect_equal(run(again.refit(values_of(wide_network(50), {"w", "scale"})), inputs),
               run(weighted_engine(wide_network(50)), inputs));
}

TEST_F(Stripped, NamesTheMissingWeights) {
  LANNER_EXPECT_ERROR(load(nullptr), ErrorCode::invalid_argument, "the plan was saved without its weights");
  LANNER_EXPECT_ERROR(load(open_path(safetensors(wide_network(1), {"w"}))), ErrorCode::not_found,
                      "weight 'scale' is missing");
  LoadOptions options;
  options.weights = open_path(folder / "whole.plan");
  LANNER_EXPECT_ERROR(Engine::load(folder / "whole.plan", options), ErrorCode::invalid_argument,
                      "the plan holds its own");
}

TEST(PlanRecipes, LoadedPlanIsRefittedLikeTheEngine) {
  const TemporaryFolder folder;
  weighted_engine(picture_network(1)).save(folder / "net.plan");
  const Engine loaded = Engine::load(folder / "net.plan");
  EXPECT_EQ(loaded.weights().size(), picture_weights.size());
  const Engine made = loaded.refit(values_of(picture_network(50), picture_weights));
  expect_equal(run(made, picture()), run(weighted_engine(picture_network(50)), picture()));
  // Small source weights are stored, so that only a part of folded weights may be given.
  const Engine part = loaded.refit(values_of(picture_network(50), {"gamma", "w"}));
  expect_equal(run(part.refit(values_of(picture_network(1), {"gamma", "w"})), picture()),
               run(loaded, picture()));
}

TEST(PlanRecipes, SixteenBitFormsAreConvertedFromTheStoredForm) {
  const TemporaryFolder folder;
  const Engine engine = weighted_engine(wide_network(1), {}, DType::bf16);
  engine.save(folder / "net.plan");
  const std::vector<Item> inputs{waves({1, 64, 3, 3})};
  EXPECT_LT(std::filesystem::file_size(folder / "net.plan"), 64u * 64 * 9 * 4 + (32u << 10));
  expect_equal(run(Engine::load(folder / "net.plan"), inputs), run(engine, inputs));
}

TEST(SourceWeights, HaveTheModelsNames) {
  using namespace onnx_file;
  const std::string bytes =
      model(graph({.nodes = {node({"Conv", {"x", "conv.weight", "conv.bias"}, {"c"}}),
                             node({"Reshape", {"c", "sizes"}, {"y"}})},
                   .inputs = {value("x", f32, {"1", "2", "4", "4"})},
                   .outputs = {value("y", f32, {"3", "16"})},
                   .constants = {floats("conv.weight", {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6}),
                                 floats("conv.bias", {3}, {1, 2, 3}), integers("sizes", {2}, {3, 16})}}));
  const Engine engine = built(bytes, plain_options());
  const std::vector<SourceWeight> weights = engine.weights();
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_EQ(weights[0].name, "conv.bias");
  EXPECT_EQ(weights[1].name, "conv.weight");
  EXPECT_EQ(weights[1].shape, (Shape{3, 2, 1, 1}));
  LANNER_EXPECT_ERROR(
      engine.refit({{"sizes", Tensor::from<std::int64_t>(std::vector<std::int64_t>{16, 3}, {2})}}),
      ErrorCode::not_found, "the engine has no weight 'sizes'");
}

} // namespace
} // namespace lanner::test
