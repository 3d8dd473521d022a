// Plans with a valid digest but wrong content: it is checked before use, and what cannot be checked is found
// by verification.

#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/plan_file/plan_parts.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "graph/parsed.h"
#include "graph/verifier.h"
#include "program/lowered/portable.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::Parts;

/// `z = (x + d) w`, and the arg max of its rows.
std::string summing_model() {
  std::vector<float> numbers;
  for (int i = 0; i < 32; ++i) numbers.push_back(0.1F * static_cast<float>(i % 7) - 0.2F);
  return model(graph({.nodes = {node({"Add", {"x", "d"}, {"s"}}), node({"MatMul", {"s", "w"}, {"z"}}),
                                node({"ArgMax", {"z"}, {"i"}, {attribute("axis", 1)}})},
                      .inputs = {value("x", f32, {"4", "8"}), value("d", f32, {"4", "8"})},
                      .outputs = {value("z", f32, {"4", "4"}), value("i", i64, {"4", "1"})},
                      .constants = {floats("w", {8, 4}, numbers)}}));
}

class LyingPlan : public testing::Test {
protected:
  void SetUp() override { test::built(summing_model(), test::plain_options()).save(folder / "whole.plan"); }

  /// The plan with the first match of `from` in a part replaced by `to`.
  std::filesystem::path changed(const std::string& part, const std::string& from, const std::string& to) {
    Parts parts(folder / "whole.plan");
    const std::string text = std::regex_replace(parts.content.at(part), std::regex(from), to,
                                                std::regex_constants::format_first_only);
    EXPECT_NE(text, parts.content.at(part)) << from << " is not in " << text;
    parts.content[part] = text;
    parts.write(folder / "changed.plan");
    return folder / "changed.plan";
  }

  TemporaryFolder folder;
};

LoadOptions verifying() {
  LoadOptions options;
  options.verify = true;
  return options;
}

TEST_F(LyingPlan, UnchangedPlanIsAccepted) {
  const Engine engine = Engine::load(folder / "whole.plan", verifying());
  const Verification found = engine.verify();
  EXPECT_TRUE(found.right()) << found.network;
  EXPECT_TRUE(found.undecided.empty());
}

TEST_F(LyingPlan, PlanThatComputesSomethingElseIsRejected) {
  const auto plan = changed("lowered", "= add\\(", "= sub(");
  const Verification found = Engine::load(plan).verify();
  EXPECT_FALSE(found.right());
  EXPECT_NE(found.network.find("output z: "), std::string::npos) << found.network;
  LANNER_EXPECT_ERROR(Engine::load(plan, verifying()), ErrorCode::bad_data,
                      "the plan does not compute what its portable IR says");
}

TEST_F(LyingPlan, PlanWithWrongArgMaxIsRejected) {
  const auto plan = changed("lowered", "= arg_max\\(", "= arg_min(");
  const Verification found = Engine::load(plan).verify();
  EXPECT_NE(found.network.find("output i: "), std::string::npos) << found.network;
}

TEST_F(LyingPlan, LoweredDetailsInThePortableGraphAreRejected) {
  for (const auto& [from, to, expected] : std::vector<std::array<std::string, 3>>{
           {"%w: f32\\[8, 4\\]", "%w: f32[8, 4] @ Ba32b", "the portable graph stores %w as Ba32b"},
           {"%x: f32\\[4, 8\\]", "%x: f32[4, 8] @ bf16 row", "the portable graph stores %x as bf16 row"},
           {"(= add\\([^)]*\\)[^\n]*)\n", "$1 tactic(\"cpu\", \"elementwise\", _, 0.0)\n", "names kernel"},
           {"(= add\\([^)]*\\)[^\n]*)\n", "$1 stream(1)\n", "is for stream 1"},
           {"= add\\((%\\w+), %\\w+\\)", "= reorder($1)", "which only lowering makes"}})
    LANNER_EXPECT_ERROR(Engine::load(changed("ir", from, to)), ErrorCode::bad_data, expected);
}

TEST_F(LyingPlan, PartBeyondItsDimsIsRejected) {
  for (const char* within : {"within=2:64", "within=100:64", "within=127:1"})
    LANNER_EXPECT_ERROR(Engine::load(changed("lowered", "%s: f32\\[4, 8\\] @ row|%s: f32\\[4, 8\\]",
                                             "%s: f32[4, 8] @ row " + std::string(within) + " in=%z")),
                        ErrorCode::bad_data, "is within a larger value along dim");
}

/// A valid value within an invalid one: both are checked before they are compared.
TEST(LyingGraph, IsCheckedValueByValueBeforeComparisons) {
  const char* text = "graph @g(%x: f32[4] @ row in=%y) -> (%y) {\n"
                     "  %y: f32[4] @ row within=100:64 = relu(%x)\n}\n";
  LANNER_EXPECT_ERROR(parse_graph(text, builtin_op_table()), ErrorCode::bad_data,
                      "%y: is within a larger value along dim 100, but has 1 dims");
}

TEST(LyingGraph, LayoutOfAValueOfOpenSizeIsRejected) {
  LANNER_EXPECT_ERROR(
      parse_graph("graph @g(%x: f32[N, 2] @ ba) -> (%x) {\n  symbol N in [1, 4]\n}\n", builtin_op_table()),
      ErrorCode::bad_data, "its sizes are not known before running");
  LANNER_EXPECT_ERROR(parse_graph("graph @g(%x: f32[2] @ ba) -> (%x) {\n}\n", builtin_op_table()),
                      ErrorCode::bad_data, "does not describe a tensor of rank 1");
}

/// Random indices are out of the table's range: the caller has to give inputs.
TEST_F(LyingPlan, RandomIndicesOutOfRangeAskForInputs) {
  const std::string file =
      model(graph({.nodes = {node({"Add", {"i", "nine"}, {"p"}}), node({"Gather", {"w", "p"}, {"y"}})},
                   .inputs = {value("i", i64, {"5"})},
                   .outputs = {value("y", f32, {"5", "2"})},
                   .constants = {floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}), integers("nine", {}, {9})}}));
  test::built(file, test::plain_options()).save(folder / "whole.plan");
  LANNER_EXPECT_ERROR(Engine::load(folder / "whole.plan", verifying()), ErrorCode::invalid_argument,
                      "or load it without verify, and call Engine::verify with inputs");
}

/// Numbers that the JSON library would truncate.
TEST_F(LyingPlan, MalformedNumbersAreRejected) {
  for (const char* number : {"1e300", "-1", "2.5", "4294967297", "18446744073709551615", "\"2\"", "null"}) {
    Parts parts(folder / "whole.plan");
    std::string& target = parts.metadata["lanner.target"];
    target =
        std::regex_replace(target, std::regex("\"threads\":[0-9]+"), std::string("\"threads\":") + number);
    parts.write(folder / "changed.plan");
    LANNER_EXPECT_ERROR(Engine::load(folder / "changed.plan"), ErrorCode::bad_data,
                        "expected a whole number from 0 to");
  }
  for (const char* size : {"1e300", "-4", "4.5", "18446744073709551615"}) {
    Parts parts(folder / "whole.plan");
    std::string& target = parts.metadata["lanner.target"];
    target = std::regex_replace(target, std::regex("\\[4,8\\]"), std::string("[") + size + ",8]");
    parts.write(folder / "changed.plan");
    LANNER_EXPECT_ERROR(Engine::load(folder / "changed.plan"), ErrorCode::bad_data,
                        "expected a whole number from 0 to");
  }
}

TEST_F(LyingPlan, DeeplyNestedReportsAreRejected) {
  Parts parts(folder / "whole.plan");
  parts.content["reports"] = std::string(100'000, '[');
  parts.write(folder / "changed.plan");
  LANNER_EXPECT_ERROR(Engine::load(folder / "changed.plan"), ErrorCode::limit_exceeded, "depth");
}

/// A kernel that needs static sizes for a node without.
TEST_F(LyingPlan, KernelForOpenSizesIsRejected) {
  const std::string file =
      model(graph({.nodes = {node({"NonZero", {"x"}, {"n"}}), node({"Neg", {"n"}, {"y"}})},
                   .inputs = {value("x", f32, {"4", "8"})},
                   .outputs = {value("y", i64, {"2", "K"})}}));
  test::built(file, test::plain_options()).save(folder / "whole.plan");
  LANNER_EXPECT_ERROR(Engine::load(changed("lowered", "(= neg\\([^\n]*)tactic\\([^\n]*",
                                           "$1tactic(\"reference\", \"reference\", _, 0.0)")),
                      ErrorCode::bad_data, "needs static sizes");
}

} // namespace
} // namespace lanner
