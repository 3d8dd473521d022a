#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <fmt/format.h>

#include "backends/elementwise/instruction.h"
#include "backends/elementwise/program.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"
#include "ops/table/table.h"

namespace lanner {
namespace {

/// Operators with one operand and a formula, with attributes that the formulas' names do not give.
std::vector<std::string> unary_operators() {
  std::vector<std::string> nodes{"leaky_relu(%x) {alpha = 0.2}",
                                 "elu(%x) {alpha = 1.5}",
                                 "celu(%x) {alpha = 2.0}",
                                 "gelu(%x) {approximate = \"tanh\"}",
                                 "thresholded_relu(%x) {alpha = 0.5}",
                                 "shrink(%x) {lambd = 0.4, bias = 0.1}"};
  for (const Formula& formula : all_formulas()) {
    const OpDef* op = builtin_op_table().find(formula.name);
    if (op && formula.operands == 1 && formula.name != "clip" && formula.name != "not")
      nodes.push_back(fmt::format("{}(%x)", formula.name));
  }
  return nodes;
}

class UnaryOperators : public testing::TestWithParam<std::string> {};
TEST_P(UnaryOperators, agree_with_the_reference) {
  for (const char* shape : {"[]", "[3]", "[2, 19, 5, 7]", "[1, 32, 20, 20]"}) {
    const auto ran = check_tactics(fmt::format(
        "graph @g(%x: f32{}) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] = {}\n}}", shape, GetParam()));
    EXPECT_TRUE(ran.contains("cpu/elementwise")) << shape;
    EXPECT_EQ(ran.contains("cpu/elementwise strided"), std::string_view(shape) != "[]") << shape;
  }
}
INSTANTIATE_TEST_SUITE_P(all, UnaryOperators, testing::ValuesIn(unary_operators()));

const char* const binary[] = {"add", "sub",   "mul",  "div",     "min",           "max",
                              "pow", "equal", "less", "greater", "less_or_equal", "greater_or_equal"};

class BinaryOperators
    : public testing::TestWithParam<std::tuple<const char*, std::pair<const char*, const char*>>> {};
TEST_P(BinaryOperators, agree_with_the_reference) {
  const auto [op, shapes] = GetParam();
  const auto ran = check_tactics(
      fmt::format("graph @g(%a: f32{}, %b: f32{}) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] = {}(%a, %b)\n}}",
                  shapes.first, shapes.second, op));
  EXPECT_TRUE(ran.contains("cpu/elementwise"));
}
INSTANTIATE_TEST_SUITE_P(
    broadcasts, BinaryOperators,
    testing::Combine(
        testing::ValuesIn(binary),
        testing::Values(std::pair{"[2, 19, 5, 7]", "[2, 19, 5, 7]"}, std::pair{"[2, 19, 5, 7]", "[19, 1, 1]"},
                        std::pair{"[2, 19, 5, 7]", "[1]"}, std::pair{"[2, 19, 5, 7]", "[2, 19, 1, 1]"},
                        std::pair{"[2, 19, 5, 7]", "[2, 1, 5, 7]"}, std::pair{"[2, 19, 5, 7]", "[7]"},
                        std::pair{"[5, 1, 700]", "[3, 1]"}, std::pair{"[64, 1, 1]", "[2, 64, 30, 30]"},
                        std::pair{"[8, 1024]", "[1024]"}, std::pair{"[8, 1030]", "[1, 1030]"})));

INSTANTIATE_TEST_SUITE_P(equal_shapes, BinaryOperators,
                         testing::Combine(testing::Values("swi_glu"),
                                          testing::Values(std::pair{"[2, 19, 5, 7]", "[2, 19, 5, 7]"},
                                                          std::pair{"[8, 1030]", "[8, 1030]"})));

class Groups : public testing::TestWithParam<const char*> {};
TEST_P(Groups, agree_with_the_reference) {
  for (const char* shape : {"[2, 19, 5, 7]", "[1, 48, 30, 30]"}) {
    const std::string ir =
        fmt::format("graph @g(%a: f32{0}, %b: f32[{1}, 1, 1]) -> (%y: f32[*] as \"y\") {{\n"
                    "%y: f32[*] = fused(%a, %b) {{kind = \"t\"}} ((%x: f32{0}, %c: f32[{1}, 1, 1]) -> (%r) "
                    "{{\n{2}}})\n}}",
                    shape, shape[1] == '2' ? 19 : 48, GetParam());
    EXPECT_TRUE(check_tactics(ir).contains("cpu/elementwise"));
  }
}
INSTANTIATE_TEST_SUITE_P(
    bodies, Groups,
    testing::Values(
        "%s: f32[*] = sigmoid(%x)\n%r: f32[*] = mul(%x, %s)\n",
        "%s: f32[*] = mul(%x, %c)\n%t: f32[*] = relu(%s)\n%u: f32[*] = add(%t, %x)\n%r: f32[*] = tanh(%u)\n",
        "%k: f32[] = constant() {value = f32[](0.5)}\n%p: bool[*] = greater(%x, %k)\n%q: f32[*] = exp(%x)\n"
        "%r: f32[*] = where(%p, %q, %c)\n",
        "%n: f32[] = constant() {value = f32[](-0.5)}\n%m: f32[] = constant() {value = f32[](0.25)}\n"
        "%t: f32[*] = clip(%x, %n, %m)\n%p: f32[*] = pow(%t, %m)\n%q: bool[*] = is_nan(%p)\n"
        "%r: f32[*] = where(%q, %t, %p)\n",
        "%s: f32[*] = sum(%x, %c, %x)\n%r: f32[*] = mean(%s, %x)\n"));

TEST(Elementwise, writes_several_results) {
  for (const char* inner : {"f32", "bool", "f16"}) {
    const std::string make = std::string_view(inner) == "bool" ? "greater(%p, %q)" : "sub(%p, %q)";
    const std::string kept = std::string_view(inner) == "f16" ? "%k: f16[*] = cast(%s) {to = f16}\n" : "";
    const auto ran = check_tactics(fmt::format(
        "graph @g(%x: f32[2, 19, 5, 7], %z: f32[19, 1, 1]) -> (%a, %b) {{\n"
        "%a: f32[2, 19, 5, 7], %b: {0}[2, 19, 5, 7] = fused(%x, %z) {{kind = \"t\"}} ((%p: f32[2, 19, 5, 7], "
        "%q: f32[19, 1, 1]) -> (%r, {3}) {{\n%s: {4}[2, 19, 5, 7] = {1}\n{2}"
        "%r: f32[2, 19, 5, 7] = {5}\n}})\n}}",
        inner, make, kept, kept.empty() ? "%s" : "%k", kept.empty() ? inner : "f32",
        std::string_view(inner) == "bool" ? "where(%s, %p, %q)" : "exp(%s)"));
    EXPECT_TRUE(ran.contains("cpu/elementwise")) << inner;
  }
}

TEST(Elementwise, casts_at_inputs_and_outputs) {
  const char* const casts[] = {"i64", "i32", "u8", "bool", "f16", "bf16"};
  for (const char* type : casts) {
    EXPECT_TRUE(check_tactics(fmt::format("graph @g(%x: f32[3, 700]) -> (%y: {0}[*] as \"y\") {{\n%y: {0}[*] "
                                          "= cast(%x) {{to = {0}}}\n}}",
                                          type))
                    .contains("cpu/elementwise"));
    EXPECT_TRUE(check_tactics(fmt::format("graph @g(%x: {0}[3, 700]) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] "
                                          "= cast(%x) {{to = f32}}\n}}",
                                          type))
                    .contains("cpu/elementwise"));
  }
}

TEST(Elementwise, prelu_agrees) {
  EXPECT_TRUE(check_tactics("graph @g(%x: f32[2, 19, 5, 7], %s: f32[19, 1, 1]) -> (%y: f32[*] as \"y\") {\n"
                            "%y: f32[*] = prelu(%x, %s)\n}")
                  .contains("cpu/elementwise"));
}

TEST(Elementwise, does_not_pass_integers_between_its_operations) {
  EXPECT_FALSE(check_tactics("graph @g(%x: f32[64]) -> (%y: f32[*] as \"y\") {\n"
                             "%y: f32[*] = fused(%x) {kind = \"t\"} ((%i: f32[64]) -> (%r) {\n"
                             "%j: i32[*] = cast(%i) {to = i32}\n%r: f32[*] = cast(%j) {to = f32}\n})\n}")
                   .contains("cpu/elementwise"));
}

TEST(Elementwise, rounds_to_halves_where_it_writes_only) {
  const auto compiles = [](std::string_view body) {
    const NodeCase one =
        make_case(fmt::format("graph @g(%x: f32[64]) -> (%y: f32[*] as \"y\") {{\n"
                              "%y: f32[*] = fused(%x) {{kind = \"t\"}} ((%i: f32[64]) -> (%r) {{\n"
                              "{}}})\n}}",
                              body));
    std::string reason;
    return compile_elementwise(Group::of(*one.node), reason, true).has_value();
  };
  EXPECT_FALSE(compiles("%j: f16[*] = cast(%i) {to = f16}\n%r: f32[*] = cast(%j) {to = f32}\n"));
  EXPECT_FALSE(compiles(
      "%j: bf16[*] = cast(%i) {to = bf16}\n%k: bf16[*] = relu(%j)\n%r: f32[*] = cast(%k) {to = f32}\n"));
  EXPECT_TRUE(compiles("%j: f32[*] = relu(%i)\n%r: f16[*] = cast(%j) {to = f16}\n"));
}

TEST(Elementwise, rejects_integers) {
  EXPECT_FALSE(check_tactics(
                   "graph @g(%a: i64[4], %b: i64[4]) -> (%y: i64[*] as \"y\") {\n%y: i64[*] = add(%a, %b)\n}")
                   .contains("cpu/elementwise"));
}

struct Precision {
  const char* formula;
  double (*exact)(double);
  float low, high;
};

class Functions : public testing::TestWithParam<Precision> {};
TEST_P(Functions, are_exact_to_a_few_units_in_the_last_place) {
  const Precision p = GetParam();
  std::vector<TileFunctions> sets{tile_functions_baseline()};
  if (cpu_features().has_avx2()) sets.push_back(tile_functions_avx2());
  if (cpu_features().has_avx512()) sets.push_back(tile_functions_avx512());
  std::vector<float> x(10007), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = p.low + (p.high - p.low) * static_cast<float>(i) / static_cast<float>(x.size() - 1);
  for (const TileFunctions functions : sets) {
    functions[formula(p.formula)](y.data(), x.data(), nullptr, nullptr, static_cast<std::int64_t>(x.size()),
                                  {});
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = p.exact(x[i]);
      worst = std::max(worst, std::abs(y[i] - exact) / std::max(std::abs(exact), 1e-37));
    }
    EXPECT_LT(worst, 6e-7);
  }
}
INSTANTIATE_TEST_SUITE_P(
    all, Functions,
    testing::Values(Precision{"exp", std::exp, -85, 88}, Precision{"log", std::log, 1e-30F, 100},
                    Precision{"log", std::log, 1.01F, 1e30F}, Precision{"tanh", std::tanh, -9, 9},
                    Precision{"erf", std::erf, -5, 5},
                    Precision{"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80},
                    Precision{"softplus", [](double x) { return std::log1p(std::exp(x)); }, -10, 60}));

TEST(Functions, keep_infinities_and_nan) {
  const float special[] = {INFINITY, -INFINITY, NAN, 200, -200, 0};
  float y[6];
  const auto run = [&](const char* name) {
    tile_functions()[formula(name)](y, special, nullptr, nullptr, 6, {});
  };
  run("exp");
  EXPECT_TRUE(std::isinf(y[0]) && y[1] == 0 && std::isnan(y[2]) && std::isinf(y[3]) && y[4] == 0 &&
              y[5] == 1);
  run("log");
  EXPECT_TRUE(std::isinf(y[0]) && std::isnan(y[1]) && std::isnan(y[2]) && std::isnan(y[4]) &&
              y[5] == -INFINITY);
  run("tanh");
  EXPECT_TRUE(y[0] == 1 && y[1] == -1 && std::isnan(y[2]) && y[3] == 1 && y[4] == -1 && y[5] == 0);
  run("relu");
  EXPECT_TRUE(std::isinf(y[0]) && y[1] == 0 && std::isnan(y[2]) && y[3] == 200 && y[4] == 0);
}

TEST(Elementwise, takes_one_value_twice) {
  for (const char* body : {"mul(%x, %x)", "add(%x, %x)", "sum(%x, %x, %x)"}) {
    const auto ran = check_tactics(
        fmt::format("graph @g(%x: f32[2, 19, 5, 7]) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] = {}\n}}", body));
    EXPECT_TRUE(ran.contains("cpu/elementwise")) << body;
  }
  expect_offered(
      check_tactics("graph @g(%c: bool[2, 19, 5, 7], %x: f32[2, 19, 5, 7]) -> (%y: f32[*] as \"y\") {\n"
                    "%y: f32[*] = where(%c, %x, %x)\n}"),
      {"cpu/elementwise"});
}

TEST(Elementwise, packs_types_below_a_byte_tile_by_tile) {
  // More than one tile of 512, and a per-channel operand whose period divides no tile of whole bytes.
  for (const char* type : {"i4", "u4", "i2", "u2"}) {
    expect_offered(check_tactics(fmt::format("graph @g(%x: {}[3, 19, 41]) -> (%y: f32[*] as \"y\") {{\n"
                                             "%y: f32[*] = cast(%x) {{to = f32}}\n}}",
                                             type)),
                   {"cpu/elementwise"});
    expect_offered(check_tactics(fmt::format("graph @g(%x: f32[3, 19, 41]) -> (%y: {0}[*] as \"y\") {{\n"
                                             "%y: {0}[*] = cast(%x) {{to = {0}}}\n}}",
                                             type)),
                   {"cpu/elementwise"});
  }
  expect_offered(
      check_tactics("graph @g(%x: i4[3, 19, 41], %b: f32[41]) -> (%y: f32[*] as \"y\") {\n"
                    "%y: f32[*] = fused(%x, %b) {kind = \"t\"} ((%xi: i4[3, 19, 41], %bi: f32[41]) "
                    "-> (%r) {\n%c: f32[*] = cast(%xi) {to = f32}\n"
                    "%r: f32[*] = add(%c, %bi)\n})\n}"),
      {"cpu/elementwise"});
}

TEST(Elementwise, empty_input_gives_empty_output) {
  expect_offered(check_tactics("graph @g(%x: f32[3, 0, 2, 4], %z: f32[0, 1, 4]) -> (%y: f32[*] as \"y\") {\n"
                               "%y: f32[*] = mul(%x, %z)\n}"),
                 {"reference/reference"});
}

} // namespace
} // namespace lanner
