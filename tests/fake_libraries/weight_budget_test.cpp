// Weight budgets of whole engines, on the fakes: builds, plans, refits and variants.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "engine/told.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

constexpr std::int64_t channels = 48;
constexpr std::uint64_t filter_bytes = 9 * channels * channels * 4; ///< Of one convolution.
constexpr int convolutions = 5;

Tensor filters(int seed) {
  Tensor made = Tensor::allocate(DType::f32, {channels, channels, 3, 3});
  int next = seed;
  for (float& number : made.as<float>()) number = 0.004F * static_cast<float>(++next % 23 - 11);
  return made;
}

std::string network() {
  using namespace onnx_file;
  const std::vector<std::int64_t> pads{1, 1, 1, 1};
  std::vector<Message> nodes, constants;
  std::string from = "x";
  for (int i = 0; i < convolutions; ++i) {
    const std::string weight = "w" + std::to_string(i),
                      to = i + 1 == convolutions ? "y" : "c" + std::to_string(i);
    const Tensor values = filters(i);
    nodes.push_back(node({"Conv", {from, weight}, {to}, {attribute("pads", pads)}}));
    constants.push_back(
        floats(weight, {channels, channels, 3, 3}, {values.as<float>().begin(), values.as<float>().end()}));
    from = to;
  }
  const std::string size = std::to_string(channels);
  return model(graph({.nodes = nodes,
                      .inputs = {value("x", f32, {"N", size, "3", "3"})},
                      .outputs = {value("y", f32, {"N", size, "3", "3"})},
                      .constants = constants}));
}

BuildOptions options(std::optional<std::uint64_t> budget = {}) {
  BuildOptions made = plain_options(gpu_device);
  made.shapes["x"] = {{1, channels, 3, 3}, {1, channels, 3, 3}, {8, channels, 3, 3}};
  made.weight_budget = budget;
  return made;
}

Tensor picture(std::int64_t batch) {
  Tensor made = Tensor::allocate(DType::f32, {batch, channels, 3, 3});
  int next = 0;
  for (float& number : made.as<float>()) number = 0.1F * static_cast<float>(++next % 17 - 8);
  return made;
}

std::vector<float> answer(Context& context, std::int64_t batch = 1) {
  return numbers(context({{"x", picture(batch)}}).at("y").tensor);
}

std::vector<float> answer(const Engine& engine) {
  Context context = engine.create_context();
  return answer(context);
}

TEST(WeightBudget, LimitsTheWeightsOfABuildAndItsContexts) {
  const Engine whole = built(network(), options());
  EXPECT_EQ(whole.streamable_weights(), convolutions * filter_bytes);
  EXPECT_EQ(whole.min_weight_budget(), filter_bytes);
  EXPECT_EQ(whole.weight_budget(), std::nullopt);
  const std::vector<float> expected = answer(whole);
  for (const std::uint64_t filters_there : {1, 2, 3, 4}) {
    const Engine engine = built(network(), options(filters_there * filter_bytes));
    Context context = engine.create_context();
    for (int run = 0; run < 4; ++run) EXPECT_EQ(answer(context), expected);
    const auto weights = told(engine).at("memory").at("weights");
    EXPECT_EQ(weights.at("budget"), filters_there * filter_bytes);
    EXPECT_LE(weights.at("resident").get<std::uint64_t>() + weights.at("ring").get<std::uint64_t>(),
              filters_there * filter_bytes);
    EXPECT_EQ(weights.at("ring"), std::min<std::uint64_t>(filters_there, 2) * filter_bytes);
    EXPECT_TRUE(engine.verify({.runs = 2}).right());
  }
  LANNER_EXPECT_ERROR(built(network(), options(filter_bytes - 1)), ErrorCode::invalid_argument,
                      "the network runs with " + std::to_string(filter_bytes) + " at least");
}

TEST(WeightBudget, ExplainReportsStreamedWeights) {
  const Engine engine = built(network(), options(4 * filter_bytes));
  int streamed = 0;
  const nlohmann::json explained = told(engine);
  for (const auto& node : explained.at("nodes"))
    if (node.contains("streamed_bytes")) {
      ++streamed;
      EXPECT_EQ(node.at("streamed_bytes"), filter_bytes);
      EXPECT_EQ(node.at("kernel"), "conv");
    }
  EXPECT_EQ(streamed, convolutions - 2);
  EXPECT_TRUE(told(built(network(), plain_options())).at("memory").at("weights").is_null());
}

TEST(WeightBudget, IsSetWhenLoadingAndNotStoredInPlans) {
  const TemporaryFolder folder;
  const auto plan = folder.path() / "network.plan", other = folder.path() / "other.plan";
  const Engine whole = built(network(), options());
  whole.save(plan);
  fake_cuda_most_device_bytes();
  const std::size_t before = fake_cuda_most_device_bytes();
  LoadOptions load;
  load.weight_budget = 2 * filter_bytes;
  const Engine engine = Engine::load(plan, load);
  EXPECT_EQ(answer(engine), answer(whole));
  EXPECT_EQ(engine.weight_budget(), 2 * filter_bytes);
  EXPECT_LT(fake_cuda_most_device_bytes() - before, 3 * filter_bytes);
  engine.save(other);
  EXPECT_EQ(Engine::load(other).weight_budget(), std::nullopt);
  load.weight_budget = filter_bytes / 2;
  LANNER_EXPECT_ERROR(Engine::load(plan, load), ErrorCode::invalid_argument, "weight budget");
}

TEST(WeightBudget, StreamsRefittedWeights) {
  const Engine whole = built(network(), options());
  const Engine engine = built(network(), options(3 * filter_bytes));
  Context before = engine.create_context();
  const std::vector<float> old = answer(before);
  std::map<std::string, Tensor> weights{{"w0", filters(50)}, {"w3", filters(60)}};
  const Engine refitted = engine.refit(weights);
  EXPECT_EQ(refitted.weight_budget(), 3 * filter_bytes);
  const std::vector<float> expected = answer(whole.refit(weights));
  EXPECT_NE(expected, old);
  Context context = refitted.create_context();
  for (int run = 0; run < 4; ++run) {
    EXPECT_EQ(answer(context), expected);
    EXPECT_EQ(answer(before), old);
  }
  refitted.set_weight_budget({});
  EXPECT_EQ(answer(context), expected);
  EXPECT_EQ(engine.weight_budget(), 3 * filter_bytes);
}

TEST(WeightBudget, IsSharedByAllVariants) {
  fake_cuda_most_device_bytes();
  const std::size_t before = fake_cuda_most_device_bytes();
  const Engine whole = built(network(), options());
  Context reference = whole.create_context();
  std::map<std::int64_t, std::vector<float>> expected;
  for (const std::int64_t batch : {1, 2, 3}) expected[batch] = answer(reference, batch);
  const std::size_t resident = fake_cuda_most_device_bytes() - before;
  whole.set_weight_budget(2 * filter_bytes);
  const Engine engine = built(network(), options(2 * filter_bytes));
  Context context = engine.create_context();
  for (int round = 0; round < 3; ++round)
    for (const std::int64_t batch : {1, 2, 3}) {
      EXPECT_EQ(answer(context, batch), expected[batch]);
      EXPECT_EQ(answer(reference, batch), expected[batch]);
    }
  const auto weights = told(engine).at("memory").at("weights");
  EXPECT_EQ(weights.at("all"), convolutions * filter_bytes);
  EXPECT_LE(weights.at("resident").get<std::uint64_t>() + weights.at("ring").get<std::uint64_t>(),
            2 * filter_bytes);
  EXPECT_GT(resident, convolutions * filter_bytes);
}

TEST(WeightBudget, IsRefusedOnAHost) {
  const Engine engine = built(network(), plain_options());
  LANNER_EXPECT_ERROR(engine.set_weight_budget(1 << 20), ErrorCode::unsupported,
                      "a weight budget is for engines on a GPU");
  engine.set_weight_budget({});
  EXPECT_EQ(engine.streamable_weights(), 0u);
  BuildOptions build = plain_options();
  build.weight_budget = 1 << 20;
  LANNER_EXPECT_ERROR(built(network(), build), ErrorCode::unsupported, "weight budget");
}

} // namespace
} // namespace lanner::test
