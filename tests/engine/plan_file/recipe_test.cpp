// Recipes of constants: recording by passes, and evaluation.

#include <gtest/gtest.h>

#include "engine/plan_file/weighted_engine.h"
#include "expect_error.h"
#include "program/weights/weights.h"

namespace lanner::test {
namespace {

/// The constants of a network after the passes.
std::vector<Recipe> recipes_of(std::string_view text) {
  const auto graph = parsed(text);
  run_passes(*graph);
  std::vector<Recipe> recipes;
  for_each_constant(graph->body(), [&](const Node& node) { recipes.push_back(recipe_of(node)); });
  return recipes;
}

Tensor value_for(const std::string& expression, const Type& type) {
  return value_of({{}, expression}, type, builtin_op_table(), [](const std::string&) { return waves({4}); },
                  {});
}

const Type vector(DType::f32, Shape{4});

TEST(Recipe, OfASourceWeightIsItsName) {
  const auto recipes = recipes_of("graph @g(%x: f32[4]) -> (%y as \"y\") {\n" + weight("a.b", "f32[4]", 1) +
                                  "  %y: f32[4] = add(%x, %a.b)\n}");
  ASSERT_EQ(recipes.size(), 1u);
  EXPECT_EQ(recipes[0], (Recipe{"a.b", {}}));
}

TEST(Recipe, OfAFoldedNodeListsItsSources) {
  const std::string text = "graph @g(%x: f32[4]) -> (%y as \"y\") {\n" + weight("data:0", "f32[4]", 1) +
                           weight("b", "f32[4]", 2) +
                           "  %c: f32[4] = mul(%\"data:0\", %b)\n  %d: f32[4] = exp(%c)\n"
                           "  %y: f32[4] = add(%x, %d)\n}";
  const auto graph = parsed(text);
  run_passes(*graph);
  std::vector<Node*> constants;
  for_each_constant(graph->body(), [&](Node& node) { constants.push_back(&node); });
  ASSERT_EQ(constants.size(), 1u);
  const Recipe recipe = recipe_of(*constants[0]);
  const auto sources = sources_of(recipe, vector, builtin_op_table());
  EXPECT_EQ(sources, (std::map<std::string, Type>{{"data:0", vector}, {"b", vector}}));
  const WeightValues values = values_of(text, {"data:0", "b"});
  const Tensor again = value_of(recipe, vector, builtin_op_table(),
                                [&](const std::string& name) { return values.at(name); }, {});
  EXPECT_TRUE(std::ranges::equal(again.as<float>(), constants[0]->output()->constant()->as<float>()));
}

TEST(Recipe, LiteralsHaveNone) {
  const auto recipes = recipes_of("graph @g(%x: f32[4]) -> (%y as \"y\") {\n"
                                  "  %a: f32[4] = constant() {value = f32[4](1.0, 2.0, 3.0, 4.0)}\n"
                                  "  %b: f32[4] = exp(%a)\n  %y: f32[4] = add(%x, %b)\n}");
  ASSERT_EQ(recipes.size(), 1u);
  EXPECT_TRUE(recipes[0].literal());
}

TEST(Recipe, TooLargeOneNamesItsSourcesOnly) {
  const auto recipes =
      recipes_of("graph @g(%x: f32[2000]) -> (%y as \"y\") {\n" + weight("a", "f32[2000]", 1) +
                 "  %b: f32[2000] = constant() {value = random(f32[2000], seed = 3, std = 1.0)}\n"
                 "  %c: f32[2000] = mul(%a, %b)\n  %y: f32[2000] = add(%x, %c)\n}");
  ASSERT_EQ(recipes.size(), 1u);
  EXPECT_TRUE(recipes[0].lost());
  const Type type(DType::f32, Shape{2000});
  EXPECT_EQ(sources_of(recipes[0], type, builtin_op_table()), (std::map<std::string, Type>{{"a", type}}));
}

std::string chain_of_folded(int nodes) {
  std::string text = "graph @g(%x: f32[4]) -> (%y as \"y\") {\n" + weight("a", "f32[4]", 1);
  for (int i = 0; i < nodes; ++i)
    text += fmt::format("  %c{}: f32[4] = {}(%{})\n", i, i % 2 ? "exp" : "tanh",
                        i == 0 ? "a" : fmt::format("c{}", i - 1));
  return text + fmt::format("  %y: f32[4] = add(%x, %c{})\n}}", nodes - 1);
}

/// Each folded node copies the previous recipe: a file may have a chain of a million.
TEST(Recipe, OfVeryManyNodesNamesItsSourcesOnly) {
  EXPECT_FALSE(recipes_of(chain_of_folded(100))[0].lost());
  const auto recipes = recipes_of(chain_of_folded(200));
  ASSERT_EQ(recipes.size(), 1u);
  EXPECT_TRUE(recipes[0].lost());
  EXPECT_EQ(sources_of(recipes[0], vector, builtin_op_table()), (std::map<std::string, Type>{{"a", vector}}));
}

TEST(Recipe, OfVeryManyResultsNamesItsSourcesOnly) {
  std::string results, sum;
  for (int i = 0; i < 100; ++i) {
    results += fmt::format("{}%s{}: f32[1]", i ? ", " : "", i);
    sum += fmt::format(", %s{}", 99 - i);
  }
  const auto recipes =
      recipes_of("graph @g(%x: f32[1]) -> (%y as \"y\") {\n" + weight("a", "f32[100]", 1) + "  " + results +
                 " = split(%a) {axis = 0}\n  %y: f32[101] = concat(%x" + sum + ") {axis = 0}\n}");
  ASSERT_EQ(recipes.size(), 100u);
  EXPECT_TRUE(recipes[0].lost() && recipes[99].lost());
  EXPECT_NE(recipes[0], recipes[99]);
}

/// A constant with unknown sources would silently keep its value in a refit.
TEST(Recipe, OfTooManySourcesPreventsFolding) {
  const auto constants_of = [](int weights) {
    std::string text = "graph @g(%x: f32[4]) -> (%y as \"y\") {\n", list;
    for (int i = 0; i < weights; ++i) {
      text += weight(fmt::format("w{}", i), "f32[4]", 1);
      list += fmt::format("{}%w{}", i ? ", " : "", i);
    }
    return recipes_of(text + fmt::format("  %c: f32[{0}] = concat({1}) {{axis = 0}}\n  %y: f32[{2}] = "
                                         "concat(%x, %c) {{axis = 0}}\n}}",
                                         4 * weights, list, 4 * weights + 4));
  };
  EXPECT_EQ(constants_of(1000).size(), 1u);
  EXPECT_EQ(constants_of(1100).size(), 1100u);
}

/// Both recipes only name the same weight.
TEST(Recipe, ConstantsWithLostRecipesAreDistinguished) {
  const auto recipes =
      recipes_of("graph @g(%x: f32[2000]) -> (%y as \"y\") {\n" + weight("a", "f32[2000]", 1) +
                 "  %b: f32[2000] = constant() {value = random(f32[2000], seed = 3, std = 1.0)}\n"
                 "  %c: f32[2000] = mul(%a, %b)\n  %d: f32[2000] = sub(%a, %b)\n"
                 "  %e: f32[2000] = mul(%x, %c)\n  %y: f32[2000] = add(%e, %d)\n}");
  ASSERT_EQ(recipes.size(), 2u);
  EXPECT_TRUE(recipes[0].lost() && recipes[1].lost());
  EXPECT_NE(recipes[0], recipes[1]);
  const Type type(DType::f32, Shape{2000});
  EXPECT_EQ(sources_of(recipes[1], type, builtin_op_table()), (std::map<std::string, Type>{{"a", type}}));
}

TEST(Recipe, HostileOnesAreRejected) {
  const std::string head = "graph @recipe(%w: f32[4]) -> (%y as \"value\") {\n";
  // more elements than fit in memory
  LANNER_EXPECT_ERROR(value_for(head + "  %n: i64[1] = constant() {value = i64[1](1000000000000)}\n"
                                       "  %y: f32[4000000000000] = tile(%w, %n)\n}",
                                vector),
                      ErrorCode::bad_data, "cannot be computed");
  // more iterations than time allows
  LANNER_EXPECT_ERROR(
      value_for(head +
                    "  %n: i64[] = constant() {value = i64[](4000000000000)}\n"
                    "  %go: bool[] = constant() {value = bool[](true)}\n"
                    "  %y: f32[4] = loop(%n, %go, %w) ((%i: i64[], %on: bool[], %v: f32[4]) -> (%on, %u) {\n"
                    "    %u: f32[4] = exp(%v)\n  })\n}",
                vector),
      ErrorCode::bad_data, "cannot be computed");
  LANNER_EXPECT_ERROR(value_for("graph @recipe(%w: f32[4], %w: f32[4]) -> (%w as \"value\") {\n}", vector),
                      ErrorCode::bad_data, "w");
  LANNER_EXPECT_ERROR(value_for(head + "  %y: f32[4] = exp(%y)\n}", vector), ErrorCode::bad_data, "y");
  LANNER_EXPECT_ERROR(value_for(head + "  %y: f16[4] = cast(%w) {to = f16}\n}", vector), ErrorCode::bad_data,
                      "gives f16[4], expected f32[4]");
}

TEST(Recipe, InfiniteResultsAreRejected) {
  LANNER_EXPECT_ERROR(
      value_for("graph @recipe(%w: f32[4]) -> (%y as \"value\") {\n"
                "  %z: f32[] = constant() {value = f32[](0.0)}\n  %y: f32[4] = div(%w, %z)\n}",
                vector),
      ErrorCode::invalid_argument, "numbers become infinite where weight 'w' was folded");
}

} // namespace
} // namespace lanner::test
