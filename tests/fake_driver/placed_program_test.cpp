// Programs over several GPUs and the host, lowered with placements, on the fake driver, which runs queued
// work in any order that streams, events and recorded graphs allow, and refuses access to another GPU's
// memory.

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "engine/lowered_engine.h"
#include "expect_error.h"
#include "fake_driver/gpu_network.h"
#include "graph/parsed.h"
#include "graph/text/text.h"
#include "lower/lower.h"
#include "program/memory/placement.h"

namespace lanner::test {
namespace {

constexpr int gpus = 3;

Device gpu(int number) {
  return {DeviceKind::cuda, static_cast<std::int16_t>(number)};
}

/// The same kernels on each GPU, copies between all, and on the host the GPUs' kernels and one more operator.
std::string gpu_rules() {
  std::string rules = "// fuses relu+neg\n";
  for (int d = 0; d < gpus; ++d) {
    const std::string own = gpu(d).to_string();
    for (const char* rule :
         {"relu: {0} -> {0} = 1", "neg: {0} -> {0} = 1", "relu+neg: {0} -> {0} = 1",
          "add: {0}, {0} -> {0} = 1, in place 1", "mul: {0}, {0} -> {0} = 1, overwrites 1",
          "abs: {0} -> {0} = 1, fault unrecordable", "concat: {0}, {0} -> {0} = 1", "reorder: {0} -> row = 1",
          "reorder: row -> {0} = 1", "reorder: {0} -> {0} = 0.1"})
      rules += fmt::format("// {}\n", fmt::format(fmt::runtime(rule), own));
    for (int other = 0; other < gpus; ++other)
      if (other != d) rules += fmt::format("// reorder: {} -> {} = 1\n", gpu(other).to_string(), own);
  }
  return rules;
}

constexpr const char* host_rules = "// relu: row -> row = 1\n// neg: row -> row = 1\n"
                                   "// add: row, row -> row = 1, in place 1\n// mul: row, row -> row = 1\n"
                                   "// abs: row -> row = 1\n// exp: row -> row = 1\n"
                                   "// concat: row, row -> row = 1\n";

/// A random network of vectors with random placements of its nodes.
struct DrawnNetwork {
  std::string text;
  std::vector<PlacedNodes> places;

  DrawnNetwork(std::mt19937& random, std::size_t nodes) {
    std::vector<std::string> values{"x", "z"};
    std::vector<int> sizes{64, 64}, uses{0, 0};
    for (std::size_t n = 0; n < nodes; ++n) {
      const std::string name = fmt::format("v{}", n);
      const std::size_t a = random() % values.size();
      std::vector<std::size_t> fitting;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (sizes[i] == sizes[a]) fitting.push_back(i);
      const std::size_t b = fitting[random() % fitting.size()];
      int size = sizes[a];
      const std::string one = values[a], other = values[b];
      std::string call;
      const auto kind = random() % 12;
      ++uses[a];
      if (kind >= 7) ++uses[b];
      if (kind < 2)
        call = fmt::format("relu(%{})", one);
      else if (kind < 4)
        call = fmt::format("neg(%{})", one);
      else if (kind == 4)
        call = fmt::format("abs(%{})", one);
      else if (kind < 7)
        call = fmt::format("exp(%{})", one);
      else if (kind < 9)
        call = fmt::format("add(%{}, %{})", one, other);
      else if (kind < 11)
        call = fmt::format("mul(%{}, %{})", one, other);
      else if (size == 64)
        call = fmt::format("concat(%{}, %{}) {{axis = 0}}", one, other), size = 128;
      else
        call = fmt::format("add(%{}, %{})", one, other);
      text += fmt::format("  %{} = {}\n", name, call);
      values.push_back(name);
      sizes.push_back(size);
      uses.push_back(0);
      if (const auto where = random() % 5; where > 0)
        places.push_back({name, where == 4 ? Device{} : gpu(static_cast<int>(where) - 1)});
    }
    std::vector<std::string> outputs;
    for (std::size_t i = 2; i < values.size(); ++i)
      if (uses[i] == 0) outputs.push_back("%" + values[i]);
    text =
        fmt::format("graph @g(%x: f32[64], %z: f32[64]) -> ({}) {{\n{}}}\n", fmt::join(outputs, ", "), text);
  }
};

class PlacedProgram : public GpuTest {
protected:
  static Target target_for(const std::vector<PlacedNodes>& places) {
    Target target;
    target.device = gpu(0);
    for (int d = 1; d < gpus; ++d) target.placement.devices.push_back(gpu(d));
    target.further.resize(gpus - 1);
    target.placement.nodes = places;
    return target;
  }

  /// The graph, lowered with these placements.
  GpuNetwork network(const std::string& text, const std::vector<PlacedNodes>& places) {
    auto graph = parsed(text);
    auto state = engine_state(graph->clone(), target_for(places));
    TimingCache cache;
    const Control control;
    Tuner tuner(state->target, 0, cache, state->constants(), control);
    const auto list = backends();
    Lowered lowered = lower(std::move(graph), {.backends = list,
                                               .target = state->target,
                                               .tuner = tuner,
                                               .constants = state->constants(),
                                               .control = control});
    program_ =
        std::make_shared<const Program>(std::move(lowered.graph), list, state->target, state->constants());
    set_program(*state, program_);
    return GpuNetwork(std::move(state));
  }

  std::vector<const Backend*> backends() const { return {&gpu_, &host_}; }

  TableBackend gpu_{"gpu on cuda:0", gpu_rules(), fake_queue};
  TableBackend host_{"host", host_rules};
  std::shared_ptr<const Program> program_;
};

TEST_F(PlacedProgram, IsRightForRandomNetworks) {
  std::mt19937 random(5);
  int several = 0, recorded = 0;
  for (int round = 0; round < 150; ++round) {
    const DrawnNetwork drawn(random, 3 + random() % 20);
    std::string places;
    for (const PlacedNodes& one : drawn.places) places += one.pattern + "=" + one.device.to_string() + " ";
    SCOPED_TRACE(drawn.text + places);
    const GpuNetwork net = network(drawn.text, drawn.places);
    EXPECT_TRUE(unkept_placements(program_->graph(), net.state->target).size() <= drawn.places.size());
    several += program_->devices().size() > 1;
    for (const Segment& segment : program_->segments()) recorded += segment.recorded && segment.steps > 1;
    fake_cuda_defer(static_cast<unsigned>(round + 1));
    Context context = net.context();
    for (int run = 0; run < 4; ++run) // plain, recorded, replayed
      ASSERT_TRUE(net.right(context)) << "run " << run << "\n" << print(program_->graph());
    fake_cuda_defer(0);
    if (HasFailure()) return;
  }
  EXPECT_GT(several, 100);
  EXPECT_GT(recorded, 100);
}

/// Two chains on two GPUs, and their sum on the first.
constexpr const char* two_chains = "graph @g(%x: f32[64]) -> (%y) {\n"
                                   "  %a = relu(%x)\n  %b = relu(%a)\n"
                                   "  %c = neg(%x)\n  %d = relu(%c)\n  %e = abs(%d)\n"
                                   "  %y = add(%b, %e)\n}\n";
const std::vector<PlacedNodes> on_the_second{{"c", gpu(1)}, {"d", gpu(1)}, {"e", gpu(1)}};

TEST_F(PlacedProgram, IsRightInFiftyOrdersAHundredTimesEach) {
  const GpuNetwork net = network(two_chains, on_the_second);
  Context lasting = net.context();
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Context fresh = net.context();
    fake_cuda_defer(seed);
    for (int run = 0; run < 3; ++run) EXPECT_TRUE(net.right_anew(fresh)) << seed;
    for (int run = 0; run < 2; ++run) EXPECT_TRUE(net.right_anew(lasting)) << seed;
    fake_cuda_defer(0);
  }
}

TEST_F(PlacedProgram, IsWrongWithoutItsWaits) {
  const GpuNetwork net = network(two_chains, on_the_second);
  fake_cuda_ignore_waits(true);
  EXPECT_GT(net.wrong_runs(19, &GpuNetwork::right_anew), 0);
}

TEST_F(PlacedProgram, HasAnArenaAndAStreamOnEachDeviceAndOneCopyEachWay) {
  const GpuNetwork net = network(two_chains, on_the_second);
  ASSERT_EQ(program_->devices().size(), 3u);
  EXPECT_GT(program_->arena_bytes(0), 0u);
  EXPECT_GT(program_->arena_bytes(1), 0u);
  EXPECT_EQ(program_->arena_bytes(2), 0u);
  int copies = 0;
  for (const Step& step : program_->steps()) {
    EXPECT_EQ(step.stream, device_of(*step.node).index);
    copies += step.node->kind() == "reorder";
  }
  EXPECT_EQ(copies, 2);
  // At the end of the run, the first device waits in its last segment only for the copy back, or for nothing.
  EXPECT_EQ(program_->segments().back().steps, 0u);
}

TEST_F(PlacedProgram, UsesOneDeviceWhereNothingIsPlaced) {
  const GpuNetwork net = network(two_chains, {});
  EXPECT_EQ(program_->devices().size(), 1u);
  EXPECT_EQ(program_->events(), 0u);
  EXPECT_EQ(program_->segments().back().steps, 1u);
}

TEST_F(PlacedProgram, StaysUsableAfterAnyFailedCall) {
  const GpuNetwork net = network(two_chains, on_the_second);
  const auto prepare = [&](Context& context, std::size_t number) {
    net.bind(context);
    fake_cuda_defer(static_cast<unsigned>(number));
  };
  expect_to_go_on(
      {[&] { return net.context(); }, [&](Context& context) { return net.right_anew(context); }, prepare});
}

TEST_F(PlacedProgram, ACancelledRunLeavesNothingQueued) {
  const GpuNetwork net = network("graph @g(%x: f32[64]) -> (%y) {\n"
                                 "  %a = relu(%x)\n  %b = exp(%a)\n  %y = relu(%b)\n}\n",
                                 {{"a", gpu(1)}});
  Context context = net.context();
  EXPECT_TRUE(net.right_anew(context));
  const Control control{CancelToken::create(), {}};
  control.cancel.cancel();
  LANNER_EXPECT_ERROR(context.run({}, control), ErrorCode::cancelled, "");
  EXPECT_TRUE(net.right_anew(context));
}

TEST_F(PlacedProgram, IsProfiledByStep) {
  fake_cuda_kernel_seconds(1e-3);
  const GpuNetwork net = network(two_chains, on_the_second);
  for (const unsigned seed : {0U, 3U}) {
    fake_cuda_defer(seed);
    Context context = net.context({.threads = 1, .profile = true});
    EXPECT_TRUE(net.right_anew(context));
    const std::vector<StepProfile> steps = context.profile();
    ASSERT_EQ(steps.size(), program_->steps().size());
    for (const StepProfile& step : steps) EXPECT_NEAR(step.seconds, 1e-3, 5e-4) << step.name;
    fake_cuda_defer(0);
  }
}

TEST_F(PlacedProgram, GraphsWithDevicesOutsideTheSetAreRefused) {
  const auto program = [&](const std::string& text) {
    auto graph = parsed(text);
    WeightStore constants;
    return Program(std::move(graph), backends(), target_for({}), constants);
  };
  const std::string head = "graph @g(%x: f32[4] @ row cuda:0) -> (%y: f32[4] as \"y\") {\n";
  LANNER_EXPECT_ERROR(
      program(head + "  %a: f32[4] @ row cuda:7 = reorder(%x) tactic(\"gpu\", \"reorder\", _, 0.0)\n"
                     "  %y: f32[4] @ row cuda:0 = reorder(%a) tactic(\"gpu\", \"reorder\", _, 0.0)\n}\n"),
      ErrorCode::bad_data, "cuda:7 is not one of the devices cuda:0,cuda:1,cuda:2");
  LANNER_EXPECT_ERROR(program(head +
                              "  %a: f32[4] @ row cuda:1 = reorder(%x) tactic(\"gpu\", \"reorder\", _, 0.0)\n"
                              "  %y: f32[4] @ row cuda:0 = relu(%a) tactic(\"gpu\", \"relu\", _, 0.0)\n}\n"),
                      ErrorCode::unsupported, "no backend here offers kernel gpu:relu");
}

TEST(Placement, InvalidPlacementsAreRefusedWithTheReason) {
  const auto check = [](Device own, DevicePlacement placement) { check_placement(own, placement); };
  check(gpu(0), {{gpu(1)}, {{"a", gpu(1)}, {"b", {}}}, false});
  check({}, {{}, {{"a", {}}}, false});
  LANNER_EXPECT_ERROR(check(gpu(0), {{gpu(0)}, {}, false}), ErrorCode::invalid_argument,
                      "device cuda:0 comes twice");
  LANNER_EXPECT_ERROR(check({}, {{gpu(0)}, {}, false}), ErrorCode::invalid_argument,
                      "device cuda:0 with cpu: expected GPUs where there are several");
  LANNER_EXPECT_ERROR(check(gpu(0), {{Device{}}, {}, false}), ErrorCode::invalid_argument,
                      "device cpu with cuda:0");
  LANNER_EXPECT_ERROR(check(gpu(0), {{}, {{"a*", gpu(1)}}, false}), ErrorCode::invalid_argument,
                      "placement 'a*=cuda:1': the engine's devices are cuda:0 and the host");
  LANNER_EXPECT_ERROR(check(gpu(0), {{}, {{"", {}}}, false}), ErrorCode::invalid_argument, "empty pattern");
  DevicePlacement many;
  for (int d = 1; d < 9; ++d) many.devices.push_back(gpu(d));
  LANNER_EXPECT_ERROR(check(gpu(0), many), ErrorCode::invalid_argument, "9 devices: expected at most 8");
}

TEST(Placement, DevicesAreReadAsAListWithoutRepeats) {
  EXPECT_EQ(devices_text(parse_devices("cuda:1,cuda:0")), "cuda:1,cuda:0");
  LANNER_EXPECT_ERROR(parse_devices("cuda:0,cuda"), ErrorCode::invalid_argument,
                      "devices 'cuda:0,cuda': cuda:0 comes twice");
  LANNER_EXPECT_ERROR(parse_devices("cuda:0,"), ErrorCode::invalid_argument, "device '' is not known");
}

} // namespace
} // namespace lanner::test
