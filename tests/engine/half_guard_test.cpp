// The accuracy guard of FP16 and BF16, and the plan of FP32 that is kept where it is faster.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "builder/precision/half_guard.h"
#include "builder/precision/half_trials.h"
#include "builder/precision/plan_choice.h"
#include "device/cpu.h"
#include "engine/caller_options.h"
#include "engine/plan_file/plan_file.h"
#include "engine/precision_notes.h"
#include "graph/parsed.h"

namespace lanner {
namespace {

/// `large` is beyond FP16's range; `rest` is what is left of a difference of large numbers, which BF16's
/// eight bits do not hold; `y` loses nothing.
const char* const network = "graph @g(%x: f32[4, 64]) -> (%y, %rest, %small) {\n"
                            "%w = constant() {value = random(f32[64, 32], seed = 5, std = 0.3)}\n"
                            "%far = constant() {value = f32[](300.0)}\n"
                            "%million = constant() {value = f32[](1e6)}\n"
                            "%y: f32[4, 32] = matmul(%x, %w)\n"
                            "%moved: f32[4, 64] = add(%x, %far)\n"
                            "%rest: f32[4, 64] = sub(%moved, %far)\n"
                            "%large: f32[4, 64] = mul(%x, %million)\n"
                            "%small: f32[4, 64] = div(%large, %million)\n}";

Target host() {
  Target target;
  target.threads = 1;
  target.isa = "avx512_bf16";
  return target;
}

std::vector<std::string> names(const HalfGuard& guard, DType type) {
  std::vector<std::string> list;
  for (const HalfVerdict& one : guard.worst)
    if (one.type == type) list.push_back(one.node);
  return list;
}

TEST(HalfGuard, measures_each_node_alone_in_each_type) {
  const auto graph = test::parsed(network);
  const HalfGuard guard =
      measured_halves(*graph, {DType::f16, DType::bf16}, InputShapes{Shape{4, 64}}, {}, host());
  EXPECT_EQ(guard.why_not, "");
  EXPECT_FALSE(guard.on_data);
  EXPECT_EQ(guard.measured, 5U);
  EXPECT_EQ(names(guard, DType::bf16), (std::vector<std::string>{"rest"}));
  EXPECT_EQ(names(guard, DType::f16), (std::vector<std::string>{"rest", "large", "small"}));
  for (const HalfVerdict& one : guard.worst) EXPECT_LT(one.snr, one.type == DType::f16 ? 40 : 25);
}

TEST(HalfGuard, a_network_of_empty_values_loses_nothing) {
  const auto graph = test::parsed("graph @g(%x: f32[0, 4]) -> (%y) {\n%y: f32[0, 4] = relu(%x)\n}");
  const HalfGuard guard = measured_halves(*graph, {DType::bf16}, InputShapes{Shape{0, 4}}, {}, host());
  EXPECT_EQ(guard.why_not, "");
  EXPECT_EQ(guard.measured, 1U);
  EXPECT_TRUE(guard.worst.empty());
}

TEST(HalfGuard, measures_on_the_data_given) {
  const auto graph = test::parsed(network);
  BuildOptions options;
  options.calibration.data = [next = 0](bool restart) mutable -> std::optional<std::map<std::string, Item>> {
    if (restart) next = 0;
    if (next++ > 1) return std::nullopt;
    Tensor x = Tensor::allocate(DType::f32, Shape{4, 64}); // whole thousands: 300 more changes little
    for (std::size_t i = 0; i < x.as<float>().size(); ++i)
      x.as<float>()[i] = 1e3F * static_cast<float>(i % 7);
    return std::map<std::string, Item>{{"x", x}};
  };
  const HalfGuard guard = measured_halves(*graph, {DType::bf16}, std::nullopt, options, host());
  EXPECT_TRUE(guard.on_data);
  EXPECT_EQ(guard.why_not, "");
  EXPECT_TRUE(names(guard, DType::bf16).empty());
}

TEST(HalfGuard, pins_what_is_below_the_bound) {
  const auto graph = test::parsed(network);
  Target target = host();
  target.precision = {DType::bf16};
  guard_halves(*graph, InputShapes{Shape{4, 64}}, {}, target);
  const auto lines = precision_notes(*graph);
  ASSERT_EQ(target.precision.pins.size(), 1U);
  EXPECT_EQ(target.precision.pins[0].pattern, "rest");
  EXPECT_EQ(target.precision.pins[0].type, DType::f32);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with("%rest is computed in fp32: ")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with("not guarded on your data")) << lines[1];
  const auto report = nlohmann::json::parse(graph->metadata.at("lanner.precision"));
  EXPECT_EQ(report["guarded_on"], "seeded inputs");
  EXPECT_EQ(report["fp32_nodes"][0]["node"], "rest");
}

TEST(HalfGuard, takes_the_bound_given_and_leaves_pinned_nodes_alone) {
  const auto graph = test::parsed(network);
  Target target = host();
  target.precision = {DType::bf16};
  BuildOptions options;
  options.calibration.least_snr = -std::numeric_limits<double>::infinity();
  guard_halves(*graph, InputShapes{Shape{4, 64}}, options, target);
  EXPECT_TRUE(target.precision.pins.empty());
  options.calibration.least_snr = 20;
  target.precision.pins = {{"rest", DType::bf16}};
  guard_halves(*graph, InputShapes{Shape{4, 64}}, options, target);
  EXPECT_EQ(target.precision.pins.size(), 1U);
}

TEST(HalfGuard, does_nothing_where_no_kernel_computes_so) {
  const auto graph = test::parsed(network);
  Target target = host();
  target.isa = "avx2";
  target.precision = {DType::bf16};
  guard_halves(*graph, InputShapes{Shape{4, 64}}, {}, target);
  target = host();
  target.precision = {DType::f16}; // on a CPU
  guard_halves(*graph, InputShapes{Shape{4, 64}}, {}, target);
  EXPECT_FALSE(graph->metadata.contains("lanner.precision"));
}

TEST(HalfGuard, says_why_it_did_not_measure) {
  const auto graph = test::parsed(network);
  Target target = host();
  target.precision = {DType::bf16};
  guard_halves(*graph, std::nullopt, {}, target);
  const auto lines = precision_notes(*graph);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "precision bf16: not guarded: no data are given, and sizes are open");
}

TEST(HalfGuard, of_an_engine_on_a_gpu_measures_on_data_alone) {
  const auto graph = test::parsed(network);
  Target target = host();
  target.device = {DeviceKind::cuda, 0};
  const HalfGuard guard = measured_halves(*graph, {DType::f16}, InputShapes{Shape{4, 64}}, {}, target);
  EXPECT_EQ(guard.measured, 0U);
  EXPECT_NE(guard.why_not, "");
}

std::shared_ptr<EngineState> state_of(const char* text) {
  auto state = std::make_shared<EngineState>();
  state->graph = test::parsed(text);
  state->target = Target{};
  describe(*state);
  state->opt = InputShapes{Shape{64, 256}};
  return state;
}

TEST(PlanChoice, keeps_fp32_only_where_it_is_faster) {
  const auto fast = state_of("graph @g(%x: f32[64, 256]) -> (%y) {\n%y: f32[64, 256] = relu(%x)\n}");
  const auto slow = state_of("graph @g(%x: f32[64, 256]) -> (%y) {\n"
                             "%w = constant() {value = random(f32[256, 4096], seed = 5, std = 0.3)}\n"
                             "%v = constant() {value = random(f32[4096, 256], seed = 5, std = 0.3)}\n"
                             "%m: f32[64, 4096] = matmul(%x, %w)\n%y: f32[64, 256] = matmul(%m, %v)\n}");
  const auto loses = timed_plans(slow, fast, 0.05, {});
  ASSERT_TRUE(loses);
  EXPECT_TRUE(loses->fp32_wins);
  EXPECT_NE(told(*loses, "bf16").find("; the plan of fp32 is kept"), std::string::npos);
  const auto kept = test::parsed("graph @g(%x: f32[2]) -> (%y) {\n%y: f32[2] = relu(%x)\n}");
  record(*kept, *loses, "a line");
  EXPECT_EQ(precision_notes(*kept), std::vector<std::string>{"a line"});
  const auto wins = timed_plans(fast, slow, 0.05, {});
  ASSERT_TRUE(wins);
  EXPECT_FALSE(wins->fp32_wins);
}

TEST(PlanChoice, binds_inputs_as_callers_hold_them) {
  const char* const text = "graph @g(%x: f32[64, 256]) -> (%y) {\n%y: f32[64, 256] = relu(%x)\n}";
  const auto one = state_of(text), other = state_of(text);
  CallerOptions callers;
  callers.storages["x"] = BindingStorage::parse("row:bf16");
  callers.overwritable = {"x"};
  for (const auto& state : {one, other}) set_callers(*state, callers);
  EXPECT_TRUE(timed_plans(one, other, 0.05, {}));
}

TEST(PrecisionNotes, of_damaged_metadata_are_none) {
  const auto graph = test::parsed("graph @g(%x: f32[2]) -> (%y) {\n%y: f32[2] = relu(%x)\n}");
  for (const char* text : {"", "{", "[1]", "{\"notes\": 3}", "{\"notes\": [3, {}]}"}) {
    graph->metadata["lanner.precision"] = text;
    EXPECT_TRUE(precision_notes(*graph).empty()) << text;
  }
}

} // namespace
} // namespace lanner
