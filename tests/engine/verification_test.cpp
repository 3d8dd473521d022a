// Engine::verify: faults that it finds, and differences that it accepts.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "builder/network_inputs.h"
#include "builder/portable_answers.h"
#include "engine/lowered_engine.h"
#include "engine/shapes_network.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "graph/parsed.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

using test::lowered_engine;
using test::TableBackend;
namespace file = test::onnx_file;

/// A chain of three kernels; `first`, `second`, `third` are names in the table.
std::string chain(std::string_view first, std::string_view second, std::string_view third) {
  return fmt::format("graph @chain(%x: f32[2, 3]) -> (%y: f32[2, 3] as \"y\") {{\n"
                     "  %a: f32[2, 3] = relu(%x) source(\"first\") tactic(\"fast\", \"{}\", _, 0.0)\n"
                     "  %b: f32[2, 3] = exp(%a) source(\"second\") tactic(\"fast\", \"{}\", _, 0.0)\n"
                     "  %y: f32[2, 3] = neg(%b) source(\"third\") tactic(\"fast\", \"{}\", _, 0.0)\n"
                     "}}\n",
                     first, second, third);
}

const TableBackend& chain_backend() {
  static const TableBackend backend("fast", "// relu as good: row -> row = 1, in place 0\n"
                                            "// relu as fading: row -> row = 1, fault wrong later\n"
                                            "// exp as good: row -> row = 1\n"
                                            "// exp as bad: row -> row = 1, fault wrong value\n"
                                            "// exp as fading: row -> row = 1, fault wrong later\n"
                                            "// exp as broken: row -> row = 1, fault fails\n"
                                            "// exp as poor: row -> row = 1, fault lacks memory\n"
                                            "// neg as good: row -> row = 1\n"
                                            "// neg as bad: row -> row = 1, fault wrong value\n");
  return backend;
}

Verification verified(const std::string& lowered, VerifyOptions options = {}) {
  return lowered_engine(lowered, chain_backend()).verify(options);
}

TEST(Verify, FindsNothingWhereEveryKernelIsRight) {
  const Verification found = verified(chain("good", "good", "good"));
  EXPECT_TRUE(found.right()) << found.network;
  EXPECT_EQ(found.nodes, 3u);
  EXPECT_EQ(found.defined, 0u);
  EXPECT_EQ(found.skipped, 0u);
}

TEST(Verify, NamesWrongNodesInOrderAndNoLaterOnes) {
  const Verification found = verified(chain("good", "bad", "bad"));
  ASSERT_EQ(found.differences.size(), 2u);
  const NodeDifference& first = found.differences[0];
  EXPECT_EQ(first.name, "b");
  EXPECT_EQ(first.op, "exp");
  EXPECT_EQ(first.kernel, "bad");
  EXPECT_EQ(first.backend, "fast");
  EXPECT_EQ(first.sources, std::vector<std::string>{"second"});
  EXPECT_NE(first.reason.find("1 of 6 elements differ, the first at 5"), std::string::npos) << first.reason;
  EXPECT_EQ(found.differences[1].name, "y");
  // Later nodes are not tested on the wrong node's result.
  EXPECT_EQ(verified(chain("good", "bad", "good")).differences.size(), 1u);
}

TEST(Verify, FindsAKernelThatIsRightInTheFirstRunOnly) {
  const Verification found = verified(chain("good", "fading", "good"));
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_NE(found.differences[0].reason.find("differs from run to run"), std::string::npos);
}

TEST(Verify, FindsDifferingRunsOfTheNetwork) {
  VerifyOptions options;
  options.runs = options.contexts = 1; // of the node, whose kernel is wrong from the second run on
  EXPECT_TRUE(verified(chain("good", "good", "good"), options).right());
  options.inputs["x"] = Item(Tensor::zeros(DType::f32, {2, 3}));
  const Verification found = verified(chain("fading", "good", "good"), options);
  EXPECT_TRUE(found.differences.empty());
  EXPECT_FALSE(found.right());
  EXPECT_NE(found.network.find("output y: "), std::string::npos) << found.network;
}

TEST(Verify, ReportsFailingKernelsAndCountsThoseWithoutMemory) {
  const Verification failing = verified(chain("good", "broken", "good"));
  ASSERT_EQ(failing.differences.size(), 1u);
  EXPECT_EQ(failing.differences[0].reason, "it fails: this kernel fails");
  EXPECT_NE(failing.network.find("this kernel fails"), std::string::npos) << failing.network;
  const Verification poor = verified(chain("good", "poor", "good"));
  EXPECT_TRUE(poor.differences.empty());
  EXPECT_EQ(poor.skipped, 1u);
  EXPECT_EQ(poor.nodes, 2u);
}

/// An exponential that is right only on the thread that ran it first.
class Homesick final : public Kernel {
public:
  void launch(const Launch& launch) const override {
    std::thread::id none{};
    home_.compare_exchange_strong(none, std::this_thread::get_id());
    const bool away = home_ != std::this_thread::get_id();
    const auto* x = static_cast<const float*>(launch.inputs[0]);
    auto* y = static_cast<float*>(launch.outputs[0]);
    for (int i = 0; i < 6; ++i) y[i] = std::exp(x[i]) + (away ? 1.F : 0.F);
  }

private:
  mutable std::atomic<std::thread::id> home_{std::thread::id{}};
};

/// An exponential that overwrites its operand, which contexts share.
class Spoiling final : public Kernel {
public:
  void launch(const Launch& launch) const override {
    auto* x = static_cast<float*>(const_cast<void*>(launch.inputs[0]));
    auto* y = static_cast<float*>(launch.outputs[0]);
    for (int i = 0; i < 6; ++i) y[i] = std::exp(std::atomic_ref(x[i]).exchange(0.F));
  }
};

/// Offers one kernel for everything.
template<typename Own>
class OneKernel final : public Backend {
public:
  std::string_view name() const override { return "fast"; }
  bool fuses(std::span<const Node* const>, const Node&, const Target&) const override { return false; }
  TacticList tactics(const Node&, const Target&) const override {
    Tactic tactic;
    tactic.kernel = "own";
    tactic.inputs.resize(1);
    tactic.outputs.resize(1);
    return {{tactic}, ""};
  }
  std::unique_ptr<Kernel> prepare(const Node&, const Tactic&, std::span<const Tensor* const>,
                                  const Target&) const override {
    return std::make_unique<Own>();
  }
};

TEST(Verify, RunsContextsOfANodeOnSeparateThreads) {
  const OneKernel<Homesick> backend;
  const Engine engine = lowered_engine("graph @g(%x: f32[2, 3]) -> (%y: f32[2, 3] as \"y\") {\n"
                                       "  %y: f32[2, 3] = exp(%x) tactic(\"fast\", \"own\", _, 0.0)\n}\n",
                                       backend);
  VerifyOptions options;
  const Verification two = engine.verify(options);
  ASSERT_EQ(two.differences.size(), 1u);
  EXPECT_EQ(two.differences[0].reason, "while another context runs: output 0 differs from run to run");
  options.contexts = 1;
  EXPECT_TRUE(engine.verify(options).differences.empty());
}

TEST(Verify, GivesEachNodeUntouchedOperands) {
  const OneKernel<Spoiling> backend;
  const Engine engine =
      lowered_engine("graph @g(%x: f32[2, 3]) -> (%y: f32[2, 3] as \"y\", %z: f32[2, 3] as \"z\") {\n"
                     "  %y: f32[2, 3] = exp(%x) tactic(\"fast\", \"own\", _, 0.0)\n"
                     "  %z: f32[2, 3] = exp(%x) tactic(\"fast\", \"own\", _, 0.0)\n"
                     "}\n",
                     backend);
  EXPECT_EQ(engine.verify().differences.size(), 2u); // with zeros the second would be right
}

TEST(Verify, UsesGivenInputs) {
  const Engine engine = lowered_engine(chain("good", "good", "good"), chain_backend());
  VerifyOptions options;
  options.inputs["x"] = Item(Tensor::zeros(DType::f32, {2, 3}));
  EXPECT_TRUE(engine.verify(options).right());
  options.inputs["x"] = Item(Tensor::zeros(DType::f32, {3, 2}));
  LANNER_EXPECT_ERROR(engine.verify(options), ErrorCode::invalid_argument, "x");
  options.inputs["x"] = Item(Tensor::zeros(DType::i32, {2, 3}));
  LANNER_EXPECT_ERROR(engine.verify(options), ErrorCode::invalid_argument, "input x: expected f32[2, 3]");
  options.inputs = {{"z", Item(Tensor::zeros(DType::f32, {2, 3}))}};
  LANNER_EXPECT_ERROR(engine.verify(options), ErrorCode::invalid_argument, "no input 'z'");
}

TEST(Verify, RejectsInvalidNumbers) {
  const Engine engine = lowered_engine(chain("good", "good", "good"), chain_backend());
  VerifyOptions options;
  options.runs = 0;
  LANNER_EXPECT_ERROR(engine.verify(options), ErrorCode::invalid_argument, "runs is 0: expected 1 to");
  options = {};
  options.contexts = 0;
  LANNER_EXPECT_ERROR(engine.verify(options), ErrorCode::invalid_argument, "contexts is 0: expected 1 to");
  options = {};
  options.threads = -1;
  LANNER_EXPECT_ERROR(engine.verify(options), ErrorCode::invalid_argument, "threads is -1");
}

TEST(Verify, ReportsNodesAndStopsWhenItIsCancelled) {
  const Engine engine = lowered_engine(chain("good", "good", "good"), chain_backend());
  VerifyOptions options;
  options.control.cancel = CancelToken::create();
  std::vector<double> done;
  options.control.progress = [&](const ProgressUpdate& update) {
    EXPECT_EQ(update.stage, "verify");
    if (update.unit != "nodes") return;
    EXPECT_EQ(update.total, 3);
    done.push_back(update.done);
    if (done.size() == 2) options.control.cancel.cancel();
  };
  LANNER_EXPECT_ERROR(engine.verify(options), ErrorCode::cancelled, "cancel");
  EXPECT_EQ(done, (std::vector<double>{0, 1}));
}

// --- Built networks ---

Engine built(const std::string& model) {
  BuildOptions options = test::plain_options();
  options.timing_cache.clear();
  options.deterministic = true;
  return test::built(model, options);
}

TEST(Verify, AcceptsTheDemosNetworkBuiltAndLoaded) {
  const TemporaryFolder folder;
  const Engine engine = test::shapes_engine();
  engine.save(folder / "shapes.plan");
  VerifyOptions options;
  options.runs = 3;
  for (const Engine& each : {engine, Engine::load(folder / "shapes.plan")}) {
    const Verification found = each.verify(options);
    EXPECT_TRUE(found.right()) << found.network
                               << (found.differences.empty() ? "" : found.differences[0].reason);
    EXPECT_GT(found.nodes, 10u);
  }
}

TEST(Verify, RunsNodesWithRegionsByTheirDefinition) {
  VerifyOptions options;
  options.runs = 2;
  const Verification found = built(file::varied_model()).verify(options);
  EXPECT_TRUE(found.right()) << found.network;
  EXPECT_GE(found.defined, 1u);
}

TEST(Verify, RunsStringsByTheirDefinition) {
  const auto graph =
      file::graph({.nodes = {file::node({"StringConcat", {"a", "b"}, {"y"}})},
                   .inputs = {file::value("a", file::text, {"3"}), file::value("b", file::text, {"3"})},
                   .outputs = {file::value("y", file::text, {"3"})}});
  const Verification found = built(file::model(graph)).verify();
  EXPECT_TRUE(found.right()) << found.network;
  EXPECT_EQ(found.nodes, 0u);
  EXPECT_EQ(found.defined, 1u);
}

/// `w[factor * i]`, where w has three rows.
std::string table_model(std::int64_t factor) {
  const auto graph = file::graph(
      {.nodes = {file::node({"Mul", {"i", "factor"}, {"place"}}),
                 file::node({"Gather", {"w", "place"}, {"y"}})},
       .inputs = {file::value("i", file::i64, {"5"})},
       .outputs = {file::value("y", file::f32, {"5", "2"})},
       .constants = {file::floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}), file::integers("factor", {}, {factor})}});
  return file::model(graph);
}

TEST(Verify, RedrawsIntegersThatAreNoValidIndices) {
  EXPECT_TRUE(built(table_model(2)).verify().right());
  EXPECT_TRUE(built(table_model(4)).verify().right()); // 4 is beyond the table
}

TEST(Verify, ReportsInputsThatTheDefinitionRejects) {
  VerifyOptions options;
  options.inputs["i"] = Item(Tensor::from<std::int64_t>(std::vector<std::int64_t>{0, 1, 2, 3, 4}, {5}));
  LANNER_EXPECT_ERROR(built(table_model(1)).verify(options), ErrorCode::invalid_argument,

                      "(gather): index 3 out of range for size 3; give inputs that the model takes");
}

TEST(NetworkInputs, DrawsIndicesWithinTheirReadersRange) {
  const auto graph =
      test::parsed("graph @g(%i: i64[1000], %m: i64[50], %b: u8[1000], %t: bool[50]) -> (%y) {\n"
                   "  %w = constant() {value = random(f32[7, 2], seed = 1, std = 1.0)}\n"
                   "  %j = cast(%i) {to = i32}\n"
                   "  %y = gather(%w, %j)\n"
                   "}\n");
  const std::vector<Item> items = network_inputs(*graph, {}, {.seed = 3});
  const auto places = items[0].tensor.as<std::int64_t>();
  EXPECT_EQ(*std::ranges::min_element(places), 0);
  EXPECT_EQ(*std::ranges::max_element(places), 6);
  EXPECT_EQ(*std::ranges::max_element(items[1].tensor.as<std::int64_t>()), 1);
  EXPECT_EQ(*std::ranges::max_element(items[2].tensor.as<std::uint8_t>()), 255);
  const std::vector<Item> again = network_inputs(*graph, {}, {.seed = 3});
  EXPECT_TRUE(std::ranges::equal(places, again[0].tensor.as<std::int64_t>()));
  const std::vector<Item> zeros = network_inputs(*graph, {}, {.seed = 3, .integers = DrawnIntegers::zero});
  EXPECT_EQ(*std::ranges::max_element(zeros[0].tensor.as<std::int64_t>()), 0);
}

TEST(NetworkInputs, RequireGivenSequences) {
  const auto graph = parse_graph("graph @g(%s: seq(f32[2])) -> (%s) {\n}\n", builtin_op_table());
  LANNER_EXPECT_ERROR(network_inputs(*graph, {}, {}), ErrorCode::invalid_argument,
                      "input s: it is not a tensor");
}

Item row(std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Item(Tensor::from<float>(std::span<const float>(values), {size}));
}

constexpr AnswerBounds bounds{0.05, INFINITY, 0};

TEST(AnswerDifference, IgnoresRoundingAndReportsTheRest) {
  EXPECT_EQ(answer_difference(row({1, 2.05F}), row({1, 2}), bounds), "");
  EXPECT_EQ(answer_difference(row({1, 5}), row({1, 2}), {0.5, INFINITY, 0}),
            "it differs by 1.34 of its norm from the definitions' result");
  EXPECT_EQ(answer_difference(row({1, 5}), row({1, 2}), {INFINITY, INFINITY, 0}), "");
  EXPECT_EQ(answer_difference(row({1, NAN}), row({1, 2}), bounds), "element 1 is nan, expected 2");
  EXPECT_EQ(answer_difference(row({1, 2}), row({1, NAN}), bounds), "");
  EXPECT_NE(answer_difference(row({1, 1}), row({0, 0}), bounds), "");
  EXPECT_EQ(answer_difference(row({100, 0}), row({100, 1}), {0.05, 0.005, 0}), "element 1 is 0, expected 1");
  EXPECT_EQ(answer_difference(row({1}), row({1, 2}), bounds), "its shape is [1], expected [2]");
}

} // namespace
} // namespace lanner
