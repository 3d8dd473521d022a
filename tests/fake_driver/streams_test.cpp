// Programs over several streams on the fake driver, which runs queued work in any order that streams, events
// and recorded graphs allow.

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "builder/stream_choice.h"
#include "engine/lowered_engine.h"
#include "fake_driver/drawn_graph.h"
#include "fake_driver/gpu_network.h"
#include "graph/parsed.h"
#include "graph/text/text.h"
#include "lower/emit/schedule.h"
#include "ops/table/table.h"
#include "program/lowered/lowered.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

class Streams : public GpuProgramTest {
protected:
  Target target() const {
    Target target;
    target.device = gpu_device;
    return target;
  }

  std::shared_ptr<const Program> program_of(const std::string& text, const CallerMemory& callers = {}) {
    return std::make_shared<const Program>(parsed(text), backends(), target(), constants_, callers);
  }

  /// Which runs just this.
  GpuNetwork network(const std::shared_ptr<const Program>& program) const {
    auto state = engine_state(without_storages(program->graph()), target());
    set_program(*state, program);
    return GpuNetwork(std::move(state));
  }

  WeightStore constants_;
};

/// Memory used by a step.
struct Used {
  ValueLocation::Kind kind;
  std::uint64_t index, first, end;
  bool write;
};

std::vector<Used> used(const Program& program, const Step& step) {
  std::vector<Used> all;
  const auto add = [&](const Value* value, const ValueLocation& location, bool write) {
    if (value && !value->constant())
      all.push_back(
          {location.kind, location.index, location.offset, location.offset + storage_bytes(*value), write});
  };
  for (std::size_t i = 0; i < step.inputs; ++i)
    add(step.node->input(i), program.inputs()[step.first_input + i], false);
  for (std::size_t i = 0; i < step.outputs; ++i)
    add(step.node->output(i), program.outputs()[step.first_output + i], true);
  return all;
}

/// For each pair of steps, whether streams, events and segments order one before the other.
std::vector<std::vector<bool>> order_of(const Program& program) {
  const std::size_t count = program.steps().size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  for (const Segment& segment : program.segments()) {
    std::map<std::uint32_t, std::size_t> reached;
    std::map<int, std::size_t> last;
    for (std::size_t b = segment.first; b < segment.first + segment.steps; ++b) {
      const Step& step = program.steps()[b];
      bool begun = last.contains(step.stream) || step.stream == 0;
      if (last.contains(step.stream)) before[last[step.stream]][b] = true;
      for (const std::uint32_t event : program.waits().subspan(step.first_wait, step.waits)) {
        begun = true;
        EXPECT_EQ(event == 0, !reached.contains(event)) << "waits for an event that is never recorded";
        EXPECT_TRUE(event != 0 || segment.forks);
        if (event != 0) before[reached.at(event)][b] = true;
      }
      EXPECT_TRUE(begun) << "stream " << step.stream << " starts without a dependency";
      last[step.stream] = b;
      if (step.event != 0) reached[step.event] = b;
    }
    // The ends of all streams must lead to the first one's: otherwise later work would not depend on them.
    std::set<std::size_t> ends;
    if (last.contains(0)) ends.insert(last[0]);
    for (const std::uint32_t event : program.waits().subspan(segment.first_wait, segment.waits))
      ends.insert(reached.at(event));
    for (std::size_t k = segment.first; k < segment.first + segment.steps; ++k)
      for (std::size_t a = segment.first; a < segment.first + segment.steps; ++a)
        for (std::size_t b = segment.first; b < segment.first + segment.steps; ++b)
          if (before[a][k] && before[k][b]) before[a][b] = true;
    for (const auto& [stream, end] : last)
      EXPECT_TRUE(std::ranges::any_of(
          ends, [&, at = end](std::size_t joined) { return joined == at || before[at][joined]; }))
          << "stream " << stream << " is not waited for";
    for (std::size_t a = 0; a < segment.first; ++a)
      for (std::size_t b = segment.first; b < segment.first + segment.steps; ++b) before[a][b] = true;
  }
  return before;
}

void expect_no_races(const Program& program) {
  const auto before = order_of(program);
  for (std::size_t b = 0; b < program.steps().size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      for (const Used& x : used(program, program.steps()[a]))
        for (const Used& y : used(program, program.steps()[b])) {
          const bool meet = (x.write || y.write) && x.kind == y.kind && x.index == y.index &&
                            x.first < y.end && y.first < x.end;
          EXPECT_TRUE(!meet || before[a][b]) << program.steps()[a].node->label() << " and "
                                             << program.steps()[b].node->label() << " share memory";
        }
}

TEST_F(Streams, NeverRaceInRandomGraphs) {
  std::mt19937 random(7);
  int spread = 0;
  for (int round = 0; round < 150; ++round) {
    const DrawnGraph drawn(random, 3 + random() % 22);
    SCOPED_TRACE(drawn.text);
    const auto program = program_of(drawn.text);
    spread += program->streams() > 1;
    expect_no_races(*program);
    const GpuNetwork net = network(program);
    fake_cuda_defer(static_cast<unsigned>(round + 1));
    Context context = net.context();
    for (int run = 0; run < 4; ++run) ASSERT_TRUE(net.right(context)) << run; // plain, recorded, replayed
    fake_cuda_defer(0);
    if (HasFailure()) return;
  }
  EXPECT_GT(spread, 50);
}

TEST_F(Streams, NeverRaceInMemoryOfCallers) {
  std::mt19937 random(13);
  int lent = 0;
  for (int round = 0; round < 300; ++round) {
    const DrawnGraph drawn(random, 3 + random() % 22);
    SCOPED_TRACE(drawn.text);
    CallerMemory callers;
    callers.overwritable = {true, random() % 2 == 0};
    if (random() % 2 == 0) callers.aliases.push_back({0, random() % 2, false});
    std::shared_ptr<const Program> program;
    try {
      program = program_of(drawn.text, callers);
    } catch (const Error&) {
      continue; // an output would have to lie in an input's memory, whatever the streams
    }
    expect_no_races(*program);
    for (const ValueLocation& location : program->outputs())
      lent += location.kind == ValueLocation::Kind::input;
    if (HasFailure()) return;
  }
  EXPECT_GT(lent, 100);
}

/// Two independent chains that start from x, and their sum.
std::string two_chains(const std::string& behind = " stream(1)") {
  std::string text = "graph @g(%x: f32[64] @ row cuda:0) -> (%y: f32[64] as \"y\") {\n";
  const auto line = [&](const char* name, const std::string& call, const char* kernel,
                        const std::string& stream) {
    text += fmt::format("  %{}: f32[64] @ row cuda:0 = {} tactic(\"gpu\", \"{}\", _, 0.0001){}\n", name, call,
                        kernel, stream);
  };
  line("a", "relu(%x)", "relu", "");
  line("b", "relu(%a)", "relu", "");
  line("c", "neg(%x)", "neg", behind);
  line("d", "relu(%c)", "relu", behind);
  line("y", "add(%b, %d)", "add", "");
  return text + "}\n";
}

TEST_F(Streams, WaitForEachOtherByAsFewEventsAsPossible) {
  const auto program = program_of(two_chains());
  EXPECT_EQ(program->streams(), 2);
  EXPECT_EQ(program->events(), 2u);
  const GpuNetwork net = network(program);
  Context context = net.context();
  std::vector<std::string> logs;
  for (int run = 0; run < 3; ++run) {
    fake_cuda_forget();
    context.run();
    logs.emplace_back(fake_cuda_log());
  }
  const std::string queued = "cuEventRecord\ncuLaunchKernel\ncuLaunchKernel\ncuStreamWaitEvent\n"
                             "cuLaunchKernel\ncuLaunchKernel\ncuEventRecord\ncuStreamWaitEvent\n"
                             "cuLaunchKernel\n";
  EXPECT_NE(logs[0].find(queued), std::string::npos) << logs[0];
  EXPECT_NE(logs[1].find("cuStreamBeginCapture\n" + queued + "cuStreamEndCapture\n"), std::string::npos);
  EXPECT_EQ(logs[2], "cuGraphLaunch\ncuStreamSynchronize\n");
}

TEST_F(Streams, OneStreamUsesNoEvents) {
  const auto program = program_of(two_chains(""));
  EXPECT_EQ(program->streams(), 1);
  EXPECT_EQ(program->events(), 0u);
  EXPECT_TRUE(program->waits().empty());
  EXPECT_LT(program->arena_bytes(), program_of(two_chains())->arena_bytes());
}

TEST_F(Streams, AreWrongWithoutTheirWaits) {
  const GpuNetwork net = network(program_of(two_chains()));
  for (const bool ignored : {false, true}) {
    fake_cuda_ignore_waits(ignored);
    EXPECT_EQ(net.wrong_runs(19, &GpuNetwork::right_anew) > 0, ignored);
  }
}

TEST_F(Streams, StayUsableAfterAnyFailedCall) {
  const GpuNetwork net = network(program_of(two_chains()));
  expect_to_go_on({[&] { return net.context(); }, [&](Context& context) { return net.right_anew(context); },
                   [&](Context& context, std::size_t) { net.bind(context); }});
}

TEST_F(Streams, EndAtStepsThatAreNotRecorded) {
  const auto program =
      program_of("graph @g(%x: f32[64] @ row cuda:0) -> (%y: f32[64] as \"y\") {\n"
                 "  %a: f32[64] @ row cuda:0 = relu(%x) tactic(\"gpu\", \"relu\", _, 0.0)\n"
                 "  %b: f32[64] @ row cuda:0 = neg(%x) tactic(\"gpu\", \"neg\", _, 0.0) stream(2)\n"
                 "  %c: f32[64] @ row cuda:0 = abs(%x) tactic(\"gpu\", \"abs\", _, 0.0) stream(1)\n"
                 "  %y: f32[64] @ row cuda:0 = add(%a, %b) tactic(\"gpu\", \"add\", _, 0.0) stream(3)\n"
                 "}\n");
  ASSERT_EQ(program->segments().size(), 3u);
  EXPECT_EQ(program->segments()[0].waits, 1u);
  EXPECT_EQ(program->steps()[2].stream, 0);
  EXPECT_EQ(program->steps()[3].stream, 3);
  expect_no_races(*program);
}

class ChosenStreams : public Streams {
protected:
  int chosen(double seconds, int like = 0, bool deterministic = false,
             const std::string& text = two_chains("")) {
    Target own = target();
    own.deterministic = deterministic;
    const Control control;
    const auto backend_list = backends();
    const auto [program, note, spent] = choose_streams(program_of(text), {.backends = backend_list,
                                                                          .target = own,
                                                                          .constants = constants_,
                                                                          .callers = callers_,
                                                                          .control = control,
                                                                          .timing_cache = {},
                                                                          .seconds = seconds,
                                                                          .source_streams = like});
    note_ = note;
    EXPECT_EQ(streams_of(program->graph()), program->streams());
    return program->streams();
  }
  CallerMemory callers_;
  std::string note_;
};

TEST_F(ChosenStreams, AreTheFasterOnes) {
  fake_cuda_kernel_seconds(1e-4);
  EXPECT_EQ(chosen(1), 2);
  EXPECT_EQ(note_, "1 stream: 510.0 us, 2 streams: 310.0 us (taken)");
  EXPECT_EQ(chosen(1, 0, true), 1) << "nothing is timed in a deterministic build";
  EXPECT_EQ(chosen(1, 1), 1) << "its model has one";
  EXPECT_EQ(chosen(0, 3), 2) << "there are two chains";
  fake_cuda_kernel_seconds(0); // all networks take the same time
  EXPECT_EQ(chosen(1), 1);
}

TEST_F(ChosenStreams, WithoutTimingAreChosenByEstimates) {
  EXPECT_EQ(chosen(0), 2) << "small kernels of 100 us each leave most of the GPU alone";
  const auto of_seconds = [&](const char* seconds) {
    return chosen(0, 0, false, replaced(two_chains(""), "0.0001", seconds));
  };
  EXPECT_EQ(of_seconds("0.000001"), 1) << "waiting takes longer than a kernel";
  EXPECT_EQ(of_seconds("0.0"), 1) << "nothing was timed";
}

TEST_F(ChosenStreams, AreOneWhereATrialFails) {
  fake_cuda_kernel_seconds(1e-4);
  const std::size_t objects = fake_cuda_objects(), memory = fake_cuda_memory();
  for (std::size_t call = 1; call < 40; ++call) {
    fake_cuda_fail(call, launch_failed);
    const int streams = chosen(1);
    EXPECT_TRUE(streams == 1 || streams == 2);
    EXPECT_TRUE(call > 1 || streams == 1);
    fake_cuda_fail(0, 0);
  }
  EXPECT_EQ(fake_cuda_objects(), objects);
  EXPECT_EQ(fake_cuda_memory(), memory);
}

TEST(Spread, AHostHasOneStream) {
  auto graph =
      parse_graph("graph @g(%x: f32[64]) -> (%y: f32[64] as \"y\") {\n"
                  "  %a: f32[64] = relu(%x)\n  %b: f32[64] = neg(%x)\n  %y: f32[64] = add(%a, %b)\n}\n",
                  builtin_op_table());
  EXPECT_FALSE(spread(*graph, {}, 4));
}

} // namespace
} // namespace lanner::test
