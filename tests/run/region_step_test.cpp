// Loops, scans and branches whose regions run as programs, against their definitions.

#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "run/lowered_text.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

constexpr std::string_view products_text = R"(
graph @main(%x: f32[8, 16]) -> (%y as "y") {
  %n: i64[] = constant() {value = i64[](50)}
  %w = constant() {value = random(f32[16, 16], seed = 3, std = 0.2)}
  %y: f32[8, 16] = loop(%n, _, %x; %w) ((%i: i64[], %go: bool[], %s: f32[8, 16], %v: f32[16, 16]) -> (%go, %next) {
    %next: f32[8, 16] = matmul(%s, %v)
  })
})";

TEST(RegionStep, ProductsInALoopRunByKernels) {
  const Engine engine = engine_of(products_text);
  expect_as_defined(engine, {waves({8, 16})});
  const Graph& graph = lowered(engine);
  EXPECT_TRUE(any_node(graph.body(), "loop", "program"));
  EXPECT_TRUE(any_node(graph.body(), "matmul", "cpu") || any_node(graph.body(), "matmul", "onednn"))
      << engine.lowered_ir();
  EXPECT_EQ(graph.find("y")->producer()->captures(), 0u) << "the weights are in the region";
}

// Stops when the sum passes the limit; keeps every sum.
constexpr std::string_view sums_text = R"(
graph @main(%n: i64[], %limit: f32[3], %step: f32[3]) -> (%sum as "sum", %all as "all") {
  %sum: f32[3], %all: f32[*] = loop(%n, _, %step; %limit, %step) ((%i: i64[], %go: bool[], %s: f32[3], %l: f32[3], %d: f32[3]) -> (%on, %next, %out) {
    %next: f32[3] = add(%s, %d)
    %out: f32[3] = mul(%next, %next)
    %less: bool[3] = less(%next, %l)
    %number: i64[3] = cast(%less) {to = i64}
    %sum_of: i64[] = reduce_sum(%number) {keepdims = 0}
    %two: i64[] = constant() {value = i64[](2)}
    %on: bool[] = greater(%sum_of, %two)
  })
})";

TEST(RegionStep, StacksUntilTheConditionIsFalse) {
  const Engine engine = engine_of(sums_text);
  const auto turns = [](std::int64_t n, float limit) {
    return std::vector<Item>{i64s({n}, {}), f32s({limit, limit, limit}), f32s({1, 1, 1})};
  };
  for (const std::int64_t n : {0, 1, 2, 5, 16, 17, 40, 100}) expect_as_defined(engine, turns(n, 1000));
  for (const float limit : {-1.f, 3.f, 30.f, 60.f}) expect_as_defined(engine, turns(1000, limit));
}

constexpr std::string_view stacked_text = R"(
graph @main(%n: i64[], %go0: bool[], %x: f32[2, 3]) -> (%y as "y", %all as "all", %same as "same") {
  %y: f32[2, 3], %all: f32[*], %same: f32[*] = loop(%n, %go0, %x) ((%i: i64[], %go: bool[], %s: f32[2, 3]) -> (%go, %next, %next, %s) {
    %next: f32[2, 3] = neg(%s)
  })
})";

TEST(RegionStep, KnownNumberOfIterationsIsStackedInPlace) {
  const Engine engine = engine_of(stacked_text);
  for (const std::int64_t n : {0, 1, 2, 3, 21})
    for (const int goes : {0, 1})
      expect_as_defined(engine, {i64s({n}, {}), bools({goes}, {}), waves({2, 3})});
}

// An iteration returns its parameters in another order, a constant, and one value twice.
constexpr std::string_view passing_text = R"(
graph @main(%n: i64[], %a0: f32[2], %b0: f32[2], %outer: f32[2]) -> (%a as "a", %b as "b", %c as "c", %d as "d", %e as "e", %f as "f", %g as "g") {
  %i0: i64[] = constant() {value = i64[](-5)}
  %a: f32[2], %b: f32[2], %c: f32[2], %d: f32[2], %e: f32[2], %f: i64[], %g: f32[2] = loop(%n, _, %a0, %b0, %a0, %b0, %a0, %i0, %b0; %outer) ((%i: i64[], %go: bool[], %pa: f32[2], %pb: f32[2], %pc: f32[2], %pd: f32[2], %pe: f32[2], %pf: i64[], %pg: f32[2], %o: f32[2]) -> (%go, %pb, %pa, %k, %sum, %sum, %i, %o) {
    %k: f32[2] = constant() {value = f32[2](7.0, 8.0)}
    %sum: f32[2] = add(%pa, %pd)
  })
})";

TEST(RegionStep, IterationMayReturnItsParameters) {
  const Engine engine = engine_of(passing_text);
  for (const std::int64_t n : {0, 1, 2, 3, 4})
    expect_as_defined(engine, {i64s({n}, {}), f32s({1, 2}), f32s({10, 20}), f32s({5, 6})});
}

constexpr std::string_view growing_text = R"(
graph @main(%n: i64[], %x: f32[1, 2]) -> (%y as "y", %z as "z") {
  %y: f32[*], %z: f32[1, 2] = loop(%n, _, %x, %x; %x) ((%i: i64[], %go: bool[], %s: f32[*], %t: f32[1, 2], %c: f32[1, 2]) -> (%go, %next, %u) {
    %next: f32[*] = concat(%s, %c) {axis = 0}
    %u: f32[1, 2] = add(%t, %c)
  })
})";

TEST(RegionStep, ChangingSizesAreItemsAmongKernels) {
  const Engine engine = engine_of(growing_text);
  for (const std::int64_t n : {0, 1, 5}) expect_as_defined(engine, {i64s({n}, {}), waves({1, 2})});
  const Graph& graph = lowered(engine);
  EXPECT_TRUE(any_node(graph.body(), "concat", "interpreter"));
  EXPECT_FALSE(any_node(graph.body(), "add", "interpreter"));
}

constexpr std::string_view sequence_text = R"(
graph @main(%n: i64[], %x: f32[2]) -> (%y as "y") {
  %none: seq(f32[*]) = sequence_empty() {dtype = f32}
  %all: seq(f32[*]), %last: f32[2] = loop(%n, _, %none, %x) ((%i: i64[], %go: bool[], %s: seq(f32[*]), %t: f32[2]) -> (%go, %more, %next) {
    %next: f32[2] = add(%t, %t)
    %more: seq(f32[*]) = sequence_insert(%s, %t)
  })
  %y: f32[*] = concat_from_sequence(%all) {axis = 0}
})";

TEST(RegionStep, SequenceKeepsValuesThatLaterIterationsOverwrite) {
  const Engine engine = engine_of(sequence_text);
  for (const std::int64_t n : {1, 2, 6}) expect_as_defined(engine, {i64s({n}, {}), f32s({1, 2})});
}

// A loop in a branch, which captures values of both outer regions, and scans in it.
constexpr std::string_view nested_text = R"(
graph @main(%c: bool[], %n: i64[], %x: f32[4, 4]) -> (%y as "y", %z as "z") {
  %w = constant() {value = random(f32[4, 4], seed = 5, std = 0.5)}
  %y: f32[4, 4], %z: f32[*] = if(%c; %x, %n, %w) ((%a: f32[4, 4], %m: i64[], %v: f32[4, 4]) -> (%t, %r) {
    %twice: f32[4, 4] = add(%a, %a)
    %t: f32[4, 4], %r: f32[*] = loop(%m, _, %a; %twice, %v) ((%i: i64[], %go: bool[], %s: f32[4, 4], %tw: f32[4, 4], %vv: f32[4, 4]) -> (%go, %next, %row) {
      %p: f32[4, 4] = matmul(%s, %vv)
      %q: f32[4, 4] = add(%p, %tw)
      %next: f32[4, 4], %sums: f32[4, 4] = scan(%q, %vv) {num_scan_inputs = 1} ((%st: f32[4, 4], %r0: f32[4]) -> (%st2, %o2) {
        %st2: f32[4, 4] = add(%st, %r0)
        %o2: f32[4] = neg(%r0)
      })
      %row: f32[4] = reduce_sum(%sums, %axes) {keepdims = 0}
      %axes: i64[1] = constant() {value = i64[1](0)}
    })
  }, (%b: f32[4, 4], %m2: i64[], %v2: f32[4, 4]) -> (%e, %f) {
    %e: f32[4, 4] = relu(%b)
    %f: f32[4, 4] = identity(%e)
  })
})";

TEST(RegionStep, RegionsMayBeNested) {
  std::string text(nested_text);
  // The axes come first.
  const std::string axes = "      %axes: i64[1] = constant() {value = i64[1](0)}\n";
  text.erase(text.find(axes), axes.size());
  text.insert(text.find("      %row:"), axes);
  const Engine engine = engine_of(text, 2);
  for (const int holds : {0, 1})
    for (const std::int64_t n : {0, 1, 3})
      expect_as_defined(engine, {bools({holds}, {}), i64s({n}, {}), waves({4, 4})});
}

constexpr std::string_view branch_text = R"(
graph @main(%c: bool[], %x: f32[2]) -> (%y as "y") {
  %y: f32[2] = if(%c; %x) ((%a: f32[2]) -> (%t) {
    %t: f32[2] = neg(%a)
  }, (%b: f32[2]) -> (%e) {
    %e: f32[2] = add(%b, %b)
  })
})";

TEST(RegionStep, ConditionOfAnyByteButZeroIsTrue) {
  Tensor condition = bools({1}, {});
  *static_cast<std::uint8_t*>(condition.data()) = 2;
  const Engine engine = engine_of(branch_text);
  Context context = engine.create_context();
  const auto got = context({{"c", condition}, {"x", f32s({1, 2})}});
  EXPECT_EQ(show(got.at("y")), "f32[2](-1, -2)");
}

constexpr std::string_view scan_text = R"(
graph @main(%x: f32[3, 2], %z: f32[2, 3]) -> (%last as "last", %sums as "sums", %rows as "rows") {
  %zero: f32[2] = constant() {value = f32[2](0.0, 0.0)}
  %last: f32[2], %sums: f32[2, 3], %rows: f32[3, 2] = scan(%zero, %x, %z) {num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [1, 0],
    scan_output_axes = [-1, 0], scan_output_directions = [1, 1]} ((%s: f32[2], %row: f32[2], %column: f32[2]) -> (%next, %out, %next) {
    %both: f32[2] = add(%row, %column)
    %next: f32[2] = add(%s, %both)
    %out: f32[2] = neg(%next)
  })
})";

TEST(RegionStep, ScansAlongAnyAxisInBothDirections) {
  expect_as_defined(engine_of(scan_text), {waves({3, 2}), waves({2, 3}, 3)});
}

TEST(RegionStep, ContextsIterateIndependently) {
  const Engine engine = engine_of(products_text);
  const std::vector<Item> one{waves({8, 16})}, two{waves({8, 16}, 5)};
  const Item want_one = run_reference(*state_of(engine).graph, one)[0],
             want_two = run_reference(*state_of(engine).graph, two)[0];
  const auto work = [&](const Item& input, const Item& want) {
    Context context = engine.create_context();
    for (int run = 0; run < 50; ++run) expect_same(context({{"x", input}}).at("y"), want, "y");
  };
  std::jthread beside([&] { work(two[0], want_two); });
  work(one[0], want_one);
}

TEST(RegionStep, PlansKeepSubprograms) {
  const TemporaryFolder folder;
  for (const std::string_view text : {products_text, sums_text, passing_text, growing_text, scan_text}) {
    const Engine engine = engine_of(text);
    engine.save(folder / "a.plan");
    const Engine loaded = Engine::load(folder / "a.plan");
    EXPECT_EQ(loaded.lowered_ir(), engine.lowered_ir());
    EXPECT_TRUE(state_of(loaded).notes.empty());
  }
  const Engine loaded = (engine_of(products_text).save(folder / "b.plan"), Engine::load(folder / "b.plan"));
  expect_as_defined(loaded, {waves({8, 16})});
  EXPECT_TRUE(loaded.verify().right());
}

constexpr std::string_view failing_text = R"(
graph @main(%n: i64[], %x: f32[4]) -> (%y as "y") {
  %y: f32[] = loop(%n, _, %s0; %x) ((%i: i64[], %go: bool[], %s: f32[], %t: f32[4]) -> (%go, %next) {
    %next: f32[] = gather(%t, %i) {axis = 0} source("lookup")
  }) source("turning")
})";

TEST(RegionStep, ErrorNamesTheNodeThatFailed) {
  std::string text(failing_text);
  text.insert(text.find("  %y: f32[]"), "  %s0: f32[] = constant() {value = f32[](0.0)}\n");
  const Engine engine = engine_of(text);
  expect_as_defined(engine, {i64s({4}, {}), waves({4})});
  Context context = engine.create_context();
  LANNER_EXPECT_ERROR(context({{"n", i64s({9}, {})}, {"x", waves({4})}}), ErrorCode::invalid_argument,
                      "node turning (loop): node lookup (gather)");
  // the failure has no effect on later runs
  const auto got = context({{"n", i64s({2}, {})}, {"x", f32s({1, 2, 3, 4})}});
  EXPECT_EQ(show(got.at("y")), "f32[](2)");
}

TEST(RegionStep, OnlyLoopsScansAndBranchesRunAsPrograms) {
  WeightStore constants;
  const auto program_of = [&](std::string_view text) {
    return Program(parsed(text), {}, {}, constants).steps().size();
  };
  LANNER_EXPECT_ERROR(program_of(R"(
graph @main(%x: f32[2]) -> (%y) {
  %y: f32[2] = fused(%x) {kind = "neg"} ((%a: f32[2]) -> (%b) {
    %b: f32[2] = neg(%a)
  }) tactic("program", "program", _, 0.0)
})"),
                      ErrorCode::bad_data, "regions of fused cannot run as programs");
  LANNER_EXPECT_ERROR(program_of(R"(
graph @main(%n: i64[], %x: f32[2]) -> (%y) {
  %y: f32[2] = loop(%n, _, %x) ((%i: i64[], %go: bool[], %a: f32[2]) -> (%go, %b) {
    %b: f32[2] @ a2a = neg(%a)
  }) tactic("program", "program", _, 0.0)
})"),
                      ErrorCode::bad_data, "");
}

} // namespace
} // namespace lanner::test
