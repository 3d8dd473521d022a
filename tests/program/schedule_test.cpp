// The order of steps over several streams, compared with one computed pair by pair.

#include "program/schedule.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "expect_error.h"
#include "graph/text/text.h"
#include "ops/table/table.h"
#include "program/memory/memory.h"
#include "program/program.h"

namespace lanner::test {
namespace {

using Steps = std::vector<std::size_t>;

struct Drawn {
  int stream = 0;
  bool barrier = false;
  Steps behind;
};

std::vector<Drawn> drawn(std::mt19937& random, std::size_t count) {
  std::vector<Drawn> steps(count);
  const int streams = 1 + static_cast<int>(random() % max_streams);
  for (std::size_t s = 0; s < count; ++s) {
    steps[s].barrier = random() % 12 == 0;
    if (steps[s].barrier) continue;
    steps[s].stream = static_cast<int>(random() % static_cast<unsigned>(streams));
    for (std::size_t n = random() % 3; s > 0 && n > 0; --n) steps[s].behind.push_back(random() % s);
  }
  return steps;
}

StepOrder order_of(const std::vector<Drawn>& steps) {
  StepOrder order;
  for (const Drawn& step : steps) step.barrier ? order.add_barrier() : order.add(step.stream, step.behind);
  return order;
}

using Matrix = std::vector<std::vector<bool>>;

/// Transitive closure: `before[a][b]` if a path leads from a to b.
Matrix closure(std::size_t count, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  Matrix before(count, std::vector<bool>(count));
  for (const auto& [a, b] : edges) before[a][b] = true;
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < count; ++b)
        if (before[a][k] && before[k][b]) before[a][b] = true;
  return before;
}

Matrix asked(const std::vector<Drawn>& steps) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t b = 0; b < steps.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a)
      if (steps[a].barrier || steps[b].barrier || steps[a].stream == steps[b].stream)
        edges.emplace_back(a, b);
    for (const std::size_t a : steps[b].behind) edges.emplace_back(a, b);
  }
  return closure(steps.size(), edges);
}

/// The order enforced by streams and waits, without wait number `without`. A stream that begins after a
/// barrier is ordered after it only if it waits for it.
Matrix done(const std::vector<Drawn>& steps, const StepOrder& order, std::size_t without = SIZE_MAX) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<std::size_t> last(max_streams, SIZE_MAX);
  std::size_t barrier = SIZE_MAX, number = 0;
  for (std::size_t b = 0; b < steps.size(); ++b) {
    std::size_t& before = last[static_cast<std::size_t>(order.stream(b))];
    if (before != SIZE_MAX) edges.emplace_back(before, b);
    before = b;
    for (const std::size_t a : order.waits(b)) {
      if (number++ == without) continue;
      if (a != StepOrder::beginning)
        edges.emplace_back(a, b);
      else if (barrier != SIZE_MAX)
        edges.emplace_back(barrier, b);
    }
    if (steps[b].barrier) barrier = b;
  }
  return closure(steps.size(), edges);
}

TEST(StepOrder, EnforcesDependencesWithMinimalWaits) {
  std::mt19937 random(11);
  std::size_t all = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<Drawn> steps = drawn(random, 2 + random() % 24);
    const StepOrder order = order_of(steps);
    const Matrix expected = asked(steps);
    ASSERT_EQ(done(steps, order), expected) << round;
    std::size_t waits = 0;
    for (std::size_t b = 0; b < steps.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) ASSERT_EQ(order.before(a, b), expected[a][b]) << a << " " << b;
      ASSERT_FALSE(order.before(b, b));
      waits += static_cast<std::size_t>(
          std::ranges::count_if(order.waits(b), [](std::size_t a) { return a != StepOrder::beginning; }));
    }
    // Each wait is needed, except one at the beginning, where this cannot be tested.
    std::size_t number = 0;
    for (std::size_t b = 0; b < steps.size(); ++b)
      for (const std::size_t a : order.waits(b)) {
        const std::size_t this_one = number++;
        EXPECT_TRUE(a == StepOrder::beginning || done(steps, order, this_one) != expected) << a << " " << b;
      }
    all += waits;
  }
  EXPECT_GT(all, 300u) << "nothing waits, so nothing was tried";
}

std::string waits_of(const StepOrder& order) {
  std::string text;
  for (std::size_t s = 0; s < order.steps(); ++s) {
    std::vector<std::string> waits;
    for (const std::size_t step : order.waits(s))
      waits.push_back(step == StepOrder::beginning ? "beginning" : fmt::format("{}", step));
    text += fmt::format("{}@{}({}) ", s, order.stream(s), fmt::join(waits, ","));
  }
  return text;
}

TEST(StepOrder, WaitsForTheLastDependencePerStream) {
  StepOrder order;
  order.add(0);
  order.add(1, Steps{0});
  order.add(1);
  order.add(2);
  order.add(0, Steps{0, 1, 2, 3});
  order.add(2, Steps{4, 2});
  order.add_barrier();
  order.add(1);
  order.add_barrier();
  EXPECT_EQ(waits_of(order), "0@0() 1@1(0) 2@1() 3@2(beginning) 4@0(2,3) 5@2(4) 6@0(5) 7@1(beginning) "
                             "8@0(7) ");
}

/// Two buffers share bytes only where each use of the one comes before any use of the other.
TEST(Memory, IsSharedOnlyByOrderedBuffers) {
  std::mt19937 random(5);
  std::uint64_t shared = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<Drawn> steps = drawn(random, 4 + random() % 20);
    const StepOrder order = order_of(steps);
    const Matrix before = asked(steps);
    std::vector<Steps> users(30);
    std::vector<BufferRequest> requests;
    for (Steps& used : users) {
      for (std::size_t n = 1 + random() % 3; n > 0; --n) used.push_back(random() % steps.size());
      BufferRequest request{random() % 3000, {}};
      for (const std::size_t step : used) order.touch(request.life, step);
      requests.push_back(request);
    }
    requests.back().life = {}; // touched by nothing
    users.back().clear();
    const ArenaPlan plan = plan_arena(requests, 64, round % 2 ? most_arena_looks : random() % 400);
    for (std::size_t a = 0; a < users.size(); ++a)
      for (std::size_t b = a + 1; b < users.size(); ++b) {
        const bool apart = plan.offsets[a] + requests[a].bytes <= plan.offsets[b] ||
                           plan.offsets[b] + requests[b].bytes <= plan.offsets[a] || !requests[a].bytes ||
                           !requests[b].bytes;
        const auto all_before = [&](const Steps& first, const Steps& second) {
          return std::ranges::all_of(first, [&](std::size_t x) {
            return std::ranges::all_of(second, [&](std::size_t y) { return bool(before[x][y]); });
          });
        };
        const bool ordered = all_before(users[a], users[b]) || all_before(users[b], users[a]);
        EXPECT_TRUE(apart || ordered) << round << ": " << a << " " << b;
        shared += apart ? 0 : 1;
      }
  }
  EXPECT_GT(shared, 1000u) << "nothing was shared, so nothing was tried";
}

/// A greedy plan of smaller buffers may be larger.
TEST(Memory, PlanOfSmallerBuffersStaysWithinTheBound) {
  std::mt19937 random(2);
  int larger = 0;
  for (int round = 0; round < 2000; ++round) {
    ArenaLayout bound;
    std::vector<BufferRequest> small;
    for (int i = 0; i < 20; ++i) {
      const std::size_t first = random() % 10;
      bound.requests.push_back({64 * (1 + random() % 40), {first, first + random() % 5}});
      small.push_back(bound.requests.back());
      if (random() % 3 == 0) small.back().bytes -= random() % small.back().bytes / 2;
    }
    bound.plan = plan_arena(bound.requests);
    larger += plan_arena(small).bytes > bound.plan.bytes;
    const ArenaPlan plan = plan_arena_within(bound, small);
    EXPECT_LE(plan.bytes, bound.plan.bytes);
    for (std::size_t a = 0; a < small.size(); ++a)
      for (std::size_t b = a + 1; b < small.size(); ++b) {
        const bool apart = plan.offsets[a] + small[a].bytes <= plan.offsets[b] ||
                           plan.offsets[b] + small[b].bytes <= plan.offsets[a];
        EXPECT_TRUE(apart || small[a].life.ends_before(small[b].life) ||
                    small[b].life.ends_before(small[a].life));
      }
    small.back().bytes = 1 << 20; // without a counterpart: placed greedily
    EXPECT_EQ(plan_arena_within(bound, small).bytes, plan_arena(small).bytes);
  }
  EXPECT_GT(larger, 0) << "nothing was larger, so nothing was tried";
}

/// Values of these sizes (in units of 64 bytes), each written by one step and read by a later one.
std::string steps_text(const std::vector<std::pair<std::size_t, bool>>& order,
                       const std::vector<std::uint64_t>& sizes) {
  std::string inputs, outputs, nodes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    inputs += fmt::format("{}%x{}: f32[{}]", i ? ", " : "", i, 16 * sizes[i]);
    outputs += fmt::format("{0}%y{1}: f32[{2}] as \"y{1}\"", i ? ", " : "", i, 16 * sizes[i]);
  }
  for (const auto& [value, reads] : order)
    nodes +=
        fmt::format("  %{0}{1}: f32[{2}] = {3}(%{4}{1}) tactic(\"reference\", \"reference\", _, 0.0)\n",
                    reads ? "y" : "v", value, 16 * sizes[value], reads ? "neg" : "relu", reads ? "v" : "x");
  return fmt::format("graph @g({}) -> ({}) {{\n{}}}\n", inputs, outputs, nodes);
}

TEST(Memory, ProgramOfSmallerShapesStaysWithinTheBound) {
  std::mt19937 random(4);
  const auto program = [](const std::string& text, const Program* bound) {
    WeightStore constants;
    return Program(parse_graph(text, builtin_op_table()), backends_for({}), {}, constants, {}, bound);
  };
  int larger = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::pair<std::size_t, bool>> order;
    std::vector<std::uint64_t> large, small;
    for (std::size_t i = 0; i < 14; ++i) {
      order.insert(order.end(), 2, {i, false});
      large.push_back(1 + random() % 40);
      small.push_back(large.back() - (random() % 3 == 0 ? random() % large.back() / 2 : 0));
    }
    std::ranges::shuffle(order, random);
    std::set<std::size_t> made;
    for (auto& [value, reads] : order) reads = !made.insert(value).second;
    const Program bound = program(steps_text(order, large), nullptr);
    const std::uint64_t alone = program(steps_text(order, small), nullptr).arena_bytes();
    const Program within = program(steps_text(order, small), &bound);
    EXPECT_EQ(within.arena_bytes(), std::min(alone, bound.arena_bytes()));
    larger += alone > bound.arena_bytes();
    EXPECT_EQ(program(steps_text(order, large), &within).arena_bytes(), bound.arena_bytes());
  }
  EXPECT_GT(larger, 0) << "nothing was larger, so nothing was tried";
}

TEST(Memory, OnOneStreamLifetimesAreListIndices) {
  StepOrder order;
  for (int s = 0; s < 5; ++s) order.add(0);
  Lifetime life;
  order.touch(life, 3);
  order.touch(life, 1);
  EXPECT_EQ(life.after[0], Lifetime(1, 3).after[0]);
  EXPECT_EQ(life.until, Lifetime(1, 3).until);
  EXPECT_TRUE(Lifetime(0, 1).ends_before(Lifetime(2, 2)));
  EXPECT_FALSE(Lifetime(0, 2).ends_before(Lifetime(2, 2)));
  EXPECT_TRUE(Lifetime().ends_before(Lifetime(0, 0)));
  EXPECT_TRUE(Lifetime(0, 0).ends_before(Lifetime()));
}

TEST(Accesses, ConflictIfOneWrites) {
  const Value* const memory = reinterpret_cast<const Value*>(std::uintptr_t{64});
  const auto conflicts = [&](const Accesses& accesses, std::uint64_t first, std::uint64_t end, bool write) {
    Steps steps;
    accesses.conflicts({memory, first, end, write}, steps);
    return steps;
  };
  Accesses accesses;
  accesses.note({memory, 0, 64, true}, 0);
  accesses.note({memory, 64, 128, true}, 1);
  accesses.note({memory, 0, 128, false}, 2);
  EXPECT_EQ(conflicts(accesses, 0, 128, false), (Steps{0, 1}));
  EXPECT_EQ(conflicts(accesses, 70, 80, false), (Steps{1}));
  EXPECT_EQ(conflicts(accesses, 0, 64, true), (Steps{0, 2}));
  EXPECT_EQ(conflicts(accesses, 128, 130, true), Steps{});
  accesses.note({memory, 0, 128, true}, 3); // after all of them
  EXPECT_EQ(conflicts(accesses, 0, 128, true), (Steps{3}));
}

/// Interleaved slices are different bytes.
TEST(Accesses, DistinguishInterleavedSlices) {
  const Value* const memory = reinterpret_cast<const Value*>(std::uintptr_t{64});
  const auto conflicts = [&](const Accesses& accesses, const Access& access) {
    Steps steps;
    accesses.conflicts(access, steps);
    return steps;
  };
  Accesses accesses;
  accesses.note({memory, 0, 216, true, {16, 100}}, 0);
  accesses.note({memory, 16, 300, true, {84, 100}}, 1); // what step 0 wrote is not replaced
  EXPECT_EQ(conflicts(accesses, {memory, 0, 216, false, {16, 100}}), (Steps{0}));
  EXPECT_EQ(conflicts(accesses, {memory, 16, 224, false, {8, 100}}), (Steps{1}));
  EXPECT_EQ(conflicts(accesses, {memory, 8, 232, false, {16, 100}}), (Steps{0, 1}));
  EXPECT_EQ(conflicts(accesses, {memory, 0, 216, false, {16, 50}}), (Steps{0, 1})); // another pitch
  EXPECT_EQ(conflicts(accesses, {memory, 90, 130, false}), (Steps{0, 1}));
  EXPECT_EQ(conflicts(accesses, {memory, 95, 315, false, {20, 100}}), (Steps{0, 1})); // over an end
  accesses.note({memory, 0, 300, true}, 2);                                           // after all of them
  EXPECT_EQ(conflicts(accesses, {memory, 0, 216, true, {16, 100}}), (Steps{2}));
}

std::unique_ptr<Graph> graph_with(const std::string& behind) {
  return parse_graph("graph @g(%x: f32[4]) -> (%y: f32[4] as \"y\") {\n"
                     "  %y: f32[4] = relu(%x)" +
                         behind + "\n}\n",
                     builtin_op_table());
}

TEST(Streams, SurvivePrintingAndParsing) {
  const std::string tactic = " tactic(\"a\", \"b\", _, 0.0)";
  const auto graph = graph_with(tactic + " stream(3)");
  EXPECT_EQ(graph->body().nodes().front()->stream(), 3);
  EXPECT_EQ(print(*graph), print(*graph->clone()));
  EXPECT_NE(print(*graph).find("0.0) stream(3)\n"), std::string::npos) << print(*graph);
  EXPECT_EQ(print(*graph_with(tactic + " stream(0)")).find("stream"), std::string::npos);
  EXPECT_EQ(print(*graph, {.name_constant = {}, .tactics = false}).find("stream"), std::string::npos);
  for (const char* hostile : {"stream(4)", "stream(-1)", "stream(99999999999)"})
    LANNER_EXPECT_ERROR(graph_with(tactic + " " + hostile), ErrorCode::bad_data, "expected 0 to 3");
  LANNER_EXPECT_ERROR(graph_with(tactic + " stream()"), ErrorCode::bad_data, "a stream");
}

TEST(Streams, HaveNoEffectOnTheHost) {
  WeightStore constants;
  const auto program = [&](const std::string& stream) {
    return Program(graph_with(" tactic(\"reference\", \"reference\", _, 0.0)" + stream), backends_for({}), {},
                   constants);
  };
  EXPECT_EQ(program(" stream(2)").streams(), 1);
  EXPECT_EQ(program(" stream(2)").events(), 0u);
  EXPECT_EQ(print(program(" stream(2)").graph()),
            print(*graph_with(" tactic(\"reference\", \"reference\", _, "
                              "0.0) stream(2)")))
      << "it is kept";
}

TEST(Streams, AreRejectedWithinARegion) {
  LANNER_EXPECT_ERROR(parse_graph("graph @g(%c: bool[], %x: f32[4]) -> (%y: f32[4] as \"y\") {\n"
                                  "  %y: f32[4] = if(%c; %x) ((%a: f32[4]) -> (%b) {\n"
                                  "    %b: f32[4] = relu(%a) stream(1)\n"
                                  "  }, (%d: f32[4]) -> (%d) {\n  })\n"
                                  "}\n",
                                  builtin_op_table()),
                      ErrorCode::bad_data, "stream 1 within a region");
}

} // namespace
} // namespace lanner::test
