// Control flow, sequences and optionals, from text.

#include <memory>

#include <gtest/gtest.h>

#include "base/limits/account.h"
#include "expect_error.h"
#include "graph/infer.h"
#include "graph/parsed.h"
#include "graph/text/text.h"
#include "ops/interpreter/interpreter.h"
#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static std::string run_text(std::string_view text, std::vector<Item> inputs) {
  const auto graph = parsed(text);
  std::string shown;
  for (const Item& item : run_reference(*graph, inputs)) shown += (shown.empty() ? "" : " ") + show(item);
  return shown;
}

static std::string type_in(std::string_view text, std::string_view name) {
  const auto graph = parsed(text);
  return graph->find(name)->type.to_string();
}

static constexpr std::string_view if_text = R"(
graph @main(%c: bool[], %x: f32[2]) -> (%y) {
  %y: f32[*] = if(%c; %x) ((%a: f32[2]) -> (%t) {
    %t: f32[2] = neg(%a)
  }, (%b: f32[2]) -> (%e) {
    %e: f32[4] = concat(%b, %b) {axis = 0}
  })
})";

TEST(If, runs_one_branch) {
  EXPECT_EQ(run_text(if_text, {bools({1}, {}), f32s({1, 2})}), "f32[2](-1, -2)");
  EXPECT_EQ(run_text(if_text, {bools({0}, {}), f32s({1, 2})}), "f32[4](1, 2, 1, 2)");
  EXPECT_EQ(type_in(if_text, "y"), "f32[case]");
  LANNER_EXPECT_ERROR(run_text(if_text, {bools({1, 0}, {2}), f32s({1, 2})}), ErrorCode::invalid_argument,
                      "expected bool[], got bool[2]");
}

// Each branch is written for a different size.
static constexpr std::string_view sized_branches_text = R"(
graph @main(%c: bool[], %x: f32[3]) -> (%y) {
  %four: i64[1] = constant() {value = i64[1](4)}
  %three: i64[2] = constant() {value = i64[2](1, 3)}
  %y: f32[*] = if(%c; %x, %four, %three) ((%a: f32[3], %f: i64[1], %t: i64[2]) -> (%u) {
    %u: f32[*] = reshape(%a, %f)
  }, (%b: f32[3], %g: i64[1], %h: i64[2]) -> (%e) {
    %e: f32[*] = reshape(%b, %h)
  })
})";

TEST(If, branch_with_wrong_sizes_fails_only_when_taken) {
  EXPECT_EQ(type_in(sized_branches_text, "y"), "f32[1, 3]");
  EXPECT_EQ(run_text(sized_branches_text, {bools({0}, {}), f32s({1, 2, 3})}), "f32[1, 3](1, 2, 3)");
  LANNER_EXPECT_ERROR(run_text(sized_branches_text, {bools({1}, {}), f32s({1, 2, 3})}),
                      ErrorCode::invalid_argument,
                      "the branch taken does not fit: node reshape %u: reshape: f32[4] cannot hold");
}

TEST(If, is_refused_when_both_branches_fail) {
  std::string text(sized_branches_text);
  text.replace(text.find("i64[2](1, 3)"), 12, "i64[2](1, 2)");
  LANNER_EXPECT_ERROR(type_in(text, "y"), ErrorCode::invalid_argument, "f32[4] cannot hold");
}

// Sums 0 + 1 + ... and stops when the sum exceeds the limit; stacks every sum.
static constexpr std::string_view loop_text = R"(
graph @main(%n: i64[], %limit: i64[]) -> (%sum, %all) {
  %zero: i64[] = constant() {value = i64[](0)}
  %sum: i64[], %all: i64[*] = loop(%n, _, %zero; %limit) ((%i: i64[], %go: bool[], %s: i64[], %l: i64[]) -> (%on, %next, %out) {
    %next: i64[] = add(%s, %i)
    %out: i64[] = identity(%next)
    %on: bool[] = less(%next, %l)
  })
})";

TEST(Loop, carries_and_stacks) {
  EXPECT_EQ(run_text(loop_text, {i64s({4}, {}), i64s({100}, {})}), "i64[](6) i64[4](0, 1, 3, 6)");
  EXPECT_EQ(run_text(loop_text, {i64s({50}, {}), i64s({5}, {})}), "i64[](6) i64[4](0, 1, 3, 6)");
  EXPECT_EQ(run_text(loop_text, {i64s({0}, {}), i64s({5}, {})}), "i64[](0) i64[0]()");
  EXPECT_EQ(type_in(loop_text, "all"), "i64[iterations]");
}

// A loop-carried value that grows has no fixed size.
static constexpr std::string_view growing_text = R"(
graph @main(%n: i64[], %x: f32[1, 2]) -> (%y) {
  %y: f32[*] = loop(%n, _, %x) ((%i: i64[], %go: bool[], %s: f32[*]) -> (%go, %next) {
    %next: f32[*] = concat(%s, %s) {axis = 0}
  })
})";

TEST(Loop, lets_sizes_change) {
  EXPECT_EQ(run_text(growing_text, {i64s({2}, {}), f32s({1, 2}, {1, 2})}),
            "f32[4, 2](1, 2, 1, 2, 1, 2, 1, 2)");
}

// Endless by itself.
static constexpr std::string_view endless_text = R"(
graph @main(%x: i64[]) -> (%y) {
  %y: i64[] = loop(_, _, %x) ((%i: i64[], %go: bool[], %s: i64[]) -> (%go, %s) {
  })
})";

TEST(Loop, ends_at_its_bounds_and_when_cancelled) {
  const auto graph = parsed(endless_text);
  const Node& loop = *graph->find("y")->producer();
  const Item x(i64s({1}, {}));
  const std::vector<const Item*> inputs{nullptr, nullptr, &x};
  LANNER_EXPECT_ERROR(run_node(loop, inputs, {.steps = 100}), ErrorCode::limit_exceeded, "100 steps");
  Control control;
  control.cancel = CancelToken::create();
  int turns = 0;
  control.progress = [&](const ProgressUpdate&) {
    if (++turns == 50) control.cancel.cancel();
  };
  LANNER_EXPECT_ERROR(run_node(loop, inputs, {.control = &control}), ErrorCode::cancelled, "");
  EXPECT_EQ(turns, 50);
}

TEST(Loop, bytes_of_its_iterations_are_bounded) {
  const auto graph = parsed(growing_text);
  const Item turns(i64s({60}, {})), x(f32s({1, 2}, {1, 2}));
  const std::vector<const Item*> inputs{&turns, nullptr, &x};
  LANNER_EXPECT_ERROR(run_node(*graph->find("y")->producer(), inputs, {.bytes = 1 << 16}),
                      ErrorCode::limit_exceeded, "more than 65536 bytes");
}

// A size that is N before the loop and 3 in it keeps the rank, which a loop without iterations must have too.
static constexpr std::string_view settling_text = R"(
graph @main(%n: i64[], %x: f32[1, N]) -> (%y, %all) {
  symbol N in [1, 3]
  %y: f32[*], %all: f32[*] = loop(%n, _, %x) ((%i: i64[], %go: bool[], %s: f32[*]) -> (%go, %next, %out) {
    %b = constant() {value = f32[3](1.0, 2.0, 3.0)}
    %next: f32[*] = add(%s, %b)
    %out: f32[*] = identity(%s)
  })
})";

TEST(Loop, keeps_the_rank_when_a_carried_size_changes_once) {
  EXPECT_EQ(type_in(settling_text, "y").find("f32[*]"), std::string::npos);
  EXPECT_EQ(run_text(settling_text, {i64s({0}, {}), f32s({1, 2, 3}, {1, 3})}),
            "f32[1, 3](1, 2, 3) f32[0, 1, 0]()");
  EXPECT_EQ(run_text(settling_text, {i64s({2}, {}), f32s({0, 0, 1}, {1, 3})}),
            "f32[1, 3](2, 4, 7) f32[2, 1, 3](0, 0, 1, 1, 2, 4)");
}

// Passes infer repeatedly; data-dependent sizes must keep their symbols.
TEST(Loop, repeated_inference_keeps_symbols) {
  for (const std::string_view text : {growing_text, loop_text, if_text}) {
    const auto graph = parsed(text);
    const std::string once = print(*graph);
    for (int i = 0; i < 3; ++i) infer_types(*graph);
    EXPECT_EQ(print(*graph), once);
  }
}

static constexpr std::string_view scan_text = R"(
graph @main(%x: f32[3, 2]) -> (%last, %sums) {
  %zero: f32[2] = constant() {value = f32[2](0.0, 0.0)}
  %last: f32[2], %sums: f32[2, 3] = scan(%zero, %x) {num_scan_inputs = 1, scan_input_directions = [1],
    scan_output_axes = [-1], scan_output_directions = [1]} ((%s: f32[2], %row: f32[2]) -> (%next, %out) {
    %next: f32[2] = add(%s, %row)
    %out: f32[2] = identity(%next)
  })
})";

TEST(Scan, runs_backwards_along_any_axis) {
  EXPECT_EQ(run_text(scan_text, {f32s({1, 10, 2, 20, 3, 30}, {3, 2})}),
            "f32[2](6, 60) f32[2, 3](6, 5, 3, 60, 50, 30)");
  EXPECT_EQ(type_in(scan_text, "sums"), "f32[2, 3]");
}

TEST(Sequence, is_a_value) {
  const Item pair = run_items({"sequence_construct", {f32s({1}), f32s({2, 3})}})[0];
  EXPECT_EQ(show(pair), "[f32[1](1), f32[2](2, 3)]");
  EXPECT_EQ(show(run_items({"sequence_insert", {pair, f32s({9}), i64s({-1}, {})}})[0]),
            "[f32[1](1), f32[1](9), f32[2](2, 3)]");
  EXPECT_EQ(show(run_items({"sequence_erase", {pair}})[0]), "[f32[1](1)]");
  EXPECT_EQ(show(run_items({"sequence_at", {pair, i64s({-1}, {})}})[0]), "f32[2](2, 3)");
  EXPECT_EQ(show(run({"sequence_length", {pair}})), "i64[](2)");
  EXPECT_EQ(show(run({"concat_from_sequence", {pair}, attributes({{"axis", std::int64_t{0}}})})),
            "f32[3](1, 2, 3)");
  LANNER_EXPECT_ERROR(run_items({"sequence_at", {pair, i64s({2}, {})}}), ErrorCode::invalid_argument,
                      "out of range");
  LANNER_EXPECT_ERROR(run_items({"concat_from_sequence",
                                 {pair},
                                 attributes({{"axis", std::int64_t{0}}, {"new_axis", std::int64_t{1}}})}),
                      ErrorCode::invalid_argument, "expected the same from each");
  EXPECT_EQ(inferred({"sequence_at", {"seq(f32[N, 2])", "i64[]"}}), "f32[N, 2]");
}

TEST(Sequence, splits_tensors) {
  const Tensor x = f32s({1, 2, 3, 4, 5});
  EXPECT_EQ(show(run_items({"split_to_sequence", {x, i64s({2}, {})}})[0]),
            "[f32[2](1, 2), f32[2](3, 4), f32[1](5)]");
  EXPECT_EQ(show(run_items({"split_to_sequence", {x, i64s({4, 1})}})[0]), "[f32[4](1, 2, 3, 4), f32[1](5)]");
  EXPECT_EQ(show(run_items({"split_to_sequence",
                            {f32s({1, 2}, {1, 2})},
                            attributes({{"keepdims", std::int64_t{0}}, {"axis", std::int64_t{1}}})})[0]),
            "[f32[1](1), f32[1](2)]");
  LANNER_EXPECT_ERROR(run_items({"split_to_sequence", {x, i64s({4, 2})}}), ErrorCode::invalid_argument,
                      "with 1 left");
}

TEST(Sequence, memory_of_many_empty_parts_is_bounded) {
  Limits limits;
  limits.total_bytes = 1 << 20;
  const auto account = std::make_shared<Account>(limits);
  const AccountScope scope(account);
  const Tensor x = Tensor::allocate(DType::f32, {std::int64_t{1} << 40, 0});
  LANNER_EXPECT_ERROR(run_items({"split_to_sequence", {x}}), ErrorCode::limit_exceeded, "total_bytes");
  LANNER_EXPECT_ERROR(run_items({"split_to_sequence", {x, i64s({3}, {})}}), ErrorCode::limit_exceeded,
                      "total_bytes");
}

static constexpr std::string_view map_text = R"(
graph @main(%s: seq(f32[*]), %x: f32[]) -> (%y) {
  %y: seq(f32[*]) = sequence_map(%s, %x) ((%a: f32[*], %b: f32[]) -> (%r) {
    %r: f32[*] = mul(%a, %b)
  })
})";

TEST(Sequence, maps_a_region) {
  Item pair;
  pair.items = std::make_shared<const std::vector<Item>>(std::vector<Item>{f32s({1}), f32s({2, 3})});
  EXPECT_EQ(run_text(map_text, {pair, f32s({10}, {})}), "[f32[1](10), f32[2](20, 30)]");
}

TEST(Optional, may_hold_nothing) {
  const Item empty = run_items({"optional", {}, attributes({{"type", Type::parse("f32[2]")}})})[0];
  EXPECT_TRUE(empty.absent);
  EXPECT_EQ(show(run({"optional_has_element", {f32s({1})}})), "bool[](1)");
  EXPECT_EQ(known({"optional_has_element", {"f32[N]"}}), "bool[](1)");
  EXPECT_EQ(inferred({"optional_get_element", {"opt(f32[N])"}}), "f32[N]");
}

TEST(String, splits_and_normalizes) {
  const auto text = [](std::string key, std::string value) {
    return attributes({{std::move(key), std::move(value)}});
  };
  const std::vector<Tensor> parts =
      run_all({"string_split", {strings({"a..b", ""}, {2})}, text("delimiter", "."), 2});
  EXPECT_EQ(show(parts[0]) + show(parts[1]),
            "string[2, 3](\"a\", \"\", \"b\", \"\", \"\", \"\")i64[2](3, 1)");
  const std::vector<Tensor> words =
      run_all({"string_split", {strings({" a  b c "}, {1})}, attributes({{"maxsplit", std::int64_t{1}}}), 2});
  EXPECT_EQ(show(words[0]), "string[1, 2](\"a\", \"b c\")");
  EXPECT_EQ(show(run({"string_normalizer",
                      {strings({"Ärger", "the", "ok\xff"}, {3})},
                      attributes({{"case_change_action", std::string("UPPER")},
                                  {"stopwords", std::vector<std::string>{"THE"}}})})),
            "string[2](\"ÄRGER\", \"OK\xff\")");
  EXPECT_EQ(show(run({"string_normalizer",
                      {strings({"a"}, {1, 1})},
                      attributes({{"stopwords", std::vector<std::string>{"a"}}})})),
            "string[1, 1](\"\")");
}
