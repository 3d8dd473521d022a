// Weights that are copied to the device ahead of the steps that read them, on the fake driver, which runs
// queued work in any order that streams, events and recorded graphs allow.

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/lowered_engine.h"
#include "expect_error.h"
#include "fake_driver/gpu_network.h"
#include "graph/parsed.h"

namespace lanner::test {
namespace {

/// Text of a network of products, each of a row by its own weight or by a shared one.
class Products {
public:
  /// Sizes of the rows between products.
  explicit Products(const std::vector<int>& widths, int streams = 1) {
    std::string row = "x";
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      const std::string weight = add_weight(widths[i], widths[i + 1]);
      row = line(widths[i + 1], fmt::format("matmul(%{}, %{})", row, weight), "matmul",
                 static_cast<int>(i) % streams);
      if (i % 3 == 1) row = line(widths[i + 1], fmt::format("relu(%{})", row), "relu", 0);
    }
    finish(widths.front(), row, widths.back());
  }
  std::string text;
  int weights = 0;

private:
  std::string add_weight(int from, int to) {
    for (const auto& [name, shape] : shapes_)
      if (shape == std::pair(from, to) && weights % 5 == 4) return ++weights, name;
    std::string name = fmt::format("w{}", weights++);
    text +=
        fmt::format("  %{}: f32[{}, {}] @ row cuda:0 = constant() {{value = random(f32[{}, {}], seed = {}, "
                    "std = 0.1)}}\n",
                    name, from, to, from, to, weights);
    shapes_.emplace_back(name, std::pair(from, to));
    return name;
  }
  std::string line(int width, const std::string& call, const std::string& kernel, int stream) {
    const std::string name = fmt::format("v{}", values_++);
    text += fmt::format("  %{}: f32[1, {}] @ row cuda:0 = {} tactic(\"gpu\", \"{}\", _, 0.0){}\n", name,
                        width, call, kernel, stream > 0 ? fmt::format(" stream({})", stream) : "");
    return name;
  }
  void finish(int width, const std::string& row, int last) {
    text = fmt::format("graph @g(%x: f32[1, {}] @ row cuda:0) -> (%{}: f32[1, {}] as \"y\") {{\n{}}}\n",
                       width, row, last, text);
  }
  std::vector<std::pair<std::string, std::pair<int, int>>> shapes_;
  int values_ = 0;
};

class WeightStreams : public GpuProgramTest {
protected:
  struct Network : GpuNetwork {
    using GpuNetwork::GpuNetwork;
    WeightBytes bytes() const { return state->constants().devices()->bytes(); }
  };

  /// A lowered graph that runs as it is.
  Network network(const std::string& text, std::optional<std::uint64_t> budget = {}) const {
    Target target;
    target.device = gpu_device;
    target.threads = 1;
    auto state = engine_state(without_storages(*parsed(text)), target);
    state->set_weight_budget(budget);
    set_program(*state,
                std::make_shared<const Program>(parsed(text), backends(), target, state->constants()));
    return Network(std::move(state));
  }
};

const std::vector<int> some_widths{128, 256, 128, 384, 128, 128, 512, 128, 256, 128, 128};

TEST_F(WeightStreams, AreRightWithAnyBudgetInAnyOrder) {
  std::mt19937 random(5);
  int streamed = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<int> widths;
    for (std::size_t i = 0; i < 3 + random() % 8; ++i)
      widths.push_back(128 * (1 + static_cast<int>(random() % 3)));
    const Products products(widths, 1 + static_cast<int>(random() % 3));
    SCOPED_TRACE(products.text);
    const Network net = network(products.text);
    const WeightBytes bytes = net.bytes();
    for (int part = 0; part <= 4; ++part) {
      const std::uint64_t budget = bytes.least + (bytes.all - bytes.least) * static_cast<unsigned>(part) / 4;
      net.engine().set_weight_budget(budget);
      EXPECT_LE(net.bytes().resident + net.bytes().ring, budget);
      streamed += net.bytes().ring > 0;
      fake_cuda_defer(static_cast<unsigned>(5 * round + part + 1));
      Context context = net.context();
      for (int run = 0; run < 4; ++run) ASSERT_TRUE(net.right(context)) << budget << ", run " << run;
      fake_cuda_defer(0);
    }
  }
  EXPECT_GT(streamed, 30);
}

TEST_F(WeightStreams, AreWrongWithoutTheirWaits) {
  const Network net = network(Products(some_widths).text);
  net.engine().set_weight_budget(net.bytes().least);
  for (const bool ignored : {false, true}) {
    fake_cuda_ignore_waits(ignored);
    EXPECT_EQ(net.wrong_runs(5, &GpuNetwork::right) > 0, ignored);
  }
}

TEST_F(WeightStreams, AreOneRecordedGraphFromTheThirdRunOn) {
  const Network net = network(Products(some_widths).text);
  net.engine().set_weight_budget(net.bytes().least + (64 << 10));
  Context context = net.context();
  for (int run = 0; run < 100; ++run) {
    fake_cuda_forget();
    context.run();
    if (run < 2) continue;
    ASSERT_STREQ(fake_cuda_log(), "cuGraphLaunch\ncuStreamSynchronize\n") << run;
  }
  EXPECT_TRUE(same_bytes(context.output("y").tensor, net.expected[0].tensor));
}

TEST_F(WeightStreams, TakeNoMoreOfTheDeviceThanTheBudget) {
  const std::string text = Products(some_widths).text;
  const WeightBytes bytes = network(text).bytes();
  for (const std::uint64_t budget : {bytes.least, bytes.least * 3 / 2, bytes.all}) {
    fake_cuda_most_device_bytes();
    const std::size_t before = fake_cuda_most_device_bytes();
    const Network net = network(text, budget);
    Context context = net.context();
    for (int run = 0; run < 4; ++run) ASSERT_TRUE(net.right(context));
    // Besides weights: input, output, arena.
    const std::uint64_t others =
        context.arena_bytes() + net.inputs[0].tensor.bytes() + 2 * net.expected[0].tensor.bytes();
    EXPECT_LE(fake_cuda_most_device_bytes() - before, budget + others);
  }
}

TEST_F(WeightStreams, ApplyANewBudgetAtTheNextRun) {
  const Network net = network(Products(some_widths).text);
  const WeightBytes bytes = net.bytes();
  const Engine engine = net.engine();
  Context one = net.context(), two = net.context();
  fake_cuda_defer(11);
  for (int round = 0; round < 3; ++round)
    for (const std::optional<std::uint64_t> budget :
         {std::optional(bytes.least), std::optional(bytes.least * 2), std::optional<std::uint64_t>()}) {
      one.enqueue({}); // still running when the budget changes
      engine.set_weight_budget(budget);
      EXPECT_EQ(engine.weight_budget(), budget);
      for (int run = 0; run < 3; ++run) {
        ASSERT_TRUE(net.right(one));
        ASSERT_TRUE(round == 1 || net.right(two));
      }
    }
}

TEST_F(WeightStreams, FreeMemoryWhenTheBudgetShrinks) {
  const Network net = network(Products(some_widths).text);
  const WeightBytes bytes = net.bytes();
  Context context = net.context();
  ASSERT_TRUE(net.right(context));
  fake_cuda_most_device_bytes();
  const std::size_t resident = fake_cuda_most_device_bytes();
  net.engine().set_weight_budget(bytes.least);
  ASSERT_TRUE(net.right(context));
  fake_cuda_most_device_bytes();
  EXPECT_LE(fake_cuda_most_device_bytes(), resident - bytes.all + bytes.least);
}

TEST_F(WeightStreams, TooSmallABudgetIsRefusedWithoutEffect) {
  const Network net = network(Products(some_widths).text);
  const std::uint64_t least = net.engine().min_weight_budget();
  EXPECT_EQ(least, 128u * 512 * 4);
  net.engine().set_weight_budget(least + 1000);
  Context context = net.context();
  ASSERT_TRUE(net.right(context));
  LANNER_EXPECT_ERROR(net.engine().set_weight_budget(least - 1), ErrorCode::invalid_argument,
                      fmt::format("the network runs with {} at least", least));
  EXPECT_EQ(net.engine().weight_budget(), least + 1000);
  ASSERT_TRUE(net.right(context));
  LANNER_EXPECT_ERROR(network(Products(some_widths).text, least - 1), ErrorCode::invalid_argument,
                      "weight budget");
  Engine host = engine_of(std::make_shared<EngineState>());
  EXPECT_EQ(host.streamable_weights(), 0u);
}

TEST_F(WeightStreams, ServeContextsOfSeveralThreads) {
  const Network net = network(Products(some_widths).text);
  net.engine().set_weight_budget(net.bytes().least);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      Context context = net.context();
      for (int run = 0; run < 5; ++run) wrong += !net.right(context);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

/// With a step on the host in the middle.
std::string with_a_hop() {
  std::string text = Products({128, 256, 128, 384, 128}).text;
  const std::string from = "%v4: f32[1, 128] @ row cuda:0 = matmul(%v3";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  text.replace(at, from.size(), "%v4: f32[1, 128] @ row cuda:0 = matmul(%back");
  text.insert(text.rfind('\n', at) + 1,
              "  %down: f32[1, 384] @ row = reorder(%v3) tactic(\"gpu\", \"reorder\", _, 0.0)\n"
              "  %roots: f32[1, 384] = sqrt(%down) tactic(\"host\", \"sqrt\", _, 0.0)\n"
              "  %back: f32[1, 384] @ row cuda:0 = reorder(%roots) tactic(\"gpu\", \"reorder\", _, 0.0)\n");
  return text;
}

TEST_F(WeightStreams, RestartAfterAStepOnTheHost) {
  const Network net = network(with_a_hop());
  ASSERT_GT(net.state->variant(*net.state->opt, 1)->program->segments().size(), 2u);
  net.engine().set_weight_budget(net.bytes().least);
  for (unsigned seed = 1; seed < 6; ++seed) {
    fake_cuda_defer(seed);
    Context context = net.context();
    for (int run = 0; run < 4; ++run) ASSERT_TRUE(net.right(context)) << seed;
    fake_cuda_defer(0);
  }
}

TEST_F(WeightStreams, ProfiledRunsAreRight) {
  const Network net = network(with_a_hop());
  net.engine().set_weight_budget(net.bytes().least);
  Context context = net.context({.threads = 1, .profile = true});
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(net.right(context));
  EXPECT_FALSE(context.profile().empty());
}

TEST_F(WeightStreams, ACancelledRunLeavesNothingQueued) {
  const Network net = network(with_a_hop());
  net.engine().set_weight_budget(net.bytes().least);
  fake_cuda_defer(7);
  Context context = net.context();
  ASSERT_TRUE(net.right(context));
  Control control;
  control.cancel = CancelToken::create();
  control.cancel.cancel();
  LANNER_EXPECT_ERROR(context.run({}, control), ErrorCode::cancelled, "");
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(net.right(context));
}

TEST_F(WeightStreams, StayUsableAfterAnyFailedCall) {
  const Network net = network(with_a_hop());
  net.engine().set_weight_budget(net.bytes().least);
  {
    Context warm = net.context();
    ASSERT_TRUE(net.right(warm));
  }
  expect_to_go_on({[&] { return net.context(); }, [&](Context& context) { return net.right(context); }});
}

TEST_F(WeightStreams, AFailedBudgetChangeHasNoEffect) {
  const Network net = network(Products(some_widths).text);
  const WeightBytes bytes = net.bytes();
  const std::size_t memory = fake_cuda_memory();
  for (std::size_t call = 1;; ++call) {
    if (!fails(call, out_of_memory, [&] { net.engine().set_weight_budget(bytes.least); })) break;
    EXPECT_EQ(net.bytes(), bytes);
    EXPECT_EQ(net.engine().weight_budget(), std::nullopt);
    EXPECT_EQ(fake_cuda_memory(), memory);
    ASSERT_LT(call, 50u);
  }
  EXPECT_EQ(net.bytes().resident, 0u);
  Context context = net.context();
  EXPECT_TRUE(net.right(context));
}

} // namespace
} // namespace lanner::test
