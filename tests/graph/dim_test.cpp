#include <random>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/type/dim.h"

namespace lanner {

static Dim N() {
  return Dim::symbol("N");
}
static Dim M() {
  return Dim::symbol("M");
}

TEST(Dim, EqualExpressionsCompareEqual) {
  EXPECT_EQ(N() + N(), Dim(2) * N());
  EXPECT_EQ(floor_div(N() * 4, 4), N());
  EXPECT_EQ((N() + 1) * (N() - 1), N() * N() - 1);
  EXPECT_EQ(N() - N(), Dim(0));
  EXPECT_EQ(floor_div(N() * M() + N(), M() + 1), N());
  EXPECT_EQ(floor_div(floor_div(N(), 2), 3), floor_div(N(), 6));
  EXPECT_EQ(floor_div(floor_div(N() + 1, 2) + 1, 2), floor_div(N() + 3, 4));
  EXPECT_EQ(floor_div(N() * 6 + 5, 4), N() + floor_div(N() + 2, 2));
  EXPECT_EQ(ceil_div(N() * 2, 2), N());
  EXPECT_EQ(mod(N() * 4 + 3, 4), Dim(3));
  EXPECT_EQ(min(N(), N() + 1), N());
  EXPECT_EQ(max(M(), N()), max(N(), M()));
  EXPECT_EQ(max(N(), max(N(), M())), max(N(), M()));
  EXPECT_FALSE(N() == M());
}

TEST(Dim, DivisionRoundsDown) {
  EXPECT_EQ(floor_div(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(ceil_div(Dim(7), 2), Dim(4));
  EXPECT_EQ(mod(Dim(-7), 4), Dim(1));
  LANNER_EXPECT_ERROR(floor_div(N(), 0), ErrorCode::invalid_argument, "division of N by 0");
}

TEST(Dim, PrintsAndParsesTheSame) {
  EXPECT_EQ((Dim(2) * N() + 1).to_string(), "2*N + 1");
  EXPECT_EQ(floor_div(N() + 1, 2).to_string(), "(N + 1) // 2");
  EXPECT_EQ((Dim(3) - N()).to_string(), "-N + 3");
  EXPECT_EQ((floor_div(N(), 2) * M() * 2).to_string(), "2*M*(N // 2)");
  EXPECT_EQ(max(N(), 1).to_string(), "max(N, 1)");
  EXPECT_EQ(Dim::parse("max(1,N)*2 - -3 + (M%4)"), max(N(), 1) * 2 + 3 + mod(M(), 4));
  EXPECT_EQ(Dim::parse("-N // 2"), Dim(0) - floor_div(N(), 2));
}

// An expression and its normal form must have equal values; the expression is built and evaluated in
// parallel.
TEST(Dim, NormalFormKeepsTheValue) {
  std::mt19937 random(1);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const Bindings values{{"N", 1 + pick(20)}, {"M", 1 + pick(20)}};
    std::vector<std::pair<Dim, std::int64_t>> made{
        {N(), values.at("N")}, {M(), values.at("M")}, {Dim(2), 2}, {Dim(3), 3}};
    for (int step = 0; step < 8; ++step) {
      const auto [a, x] = made[static_cast<std::size_t>(pick(static_cast<int>(made.size())))];
      const auto [b, y] = made[static_cast<std::size_t>(pick(static_cast<int>(made.size())))];
      const std::int64_t down = y == 0 ? 0 : (x - ((x % y + y) % y)) / y;
      switch (pick(7)) {
      case 0:
        made.emplace_back(a + b, x + y);
        break;
      case 1:
        made.emplace_back(a - b, x - y);
        break;
      case 2:
        if (std::abs(x * y) < 1000) made.emplace_back(a * b, x * y);
        break;
      case 3:
        if (y > 0) made.emplace_back(floor_div(a, b), down);
        break;
      case 4:
        if (y > 0) made.emplace_back(mod(a, b), x - down * y);
        break;
      case 5:
        made.emplace_back(min(a, b), std::min(x, y));
        break;
      default:
        made.emplace_back(max(a, b), std::max(x, y));
        break;
      }
      const auto& [dim, value] = made.back();
      ASSERT_EQ(dim.evaluate(values), value) << dim.to_string();
      ASSERT_EQ(Dim::parse(dim.to_string()), dim) << dim.to_string();
      const SymbolInfo range = dim.bounds({{"N", {1, 20, -1}}, {"M", {1, 20, -1}}});
      ASSERT_LE(range.min, value) << dim.to_string();
      ASSERT_GE(range.max, value) << dim.to_string();
    }
  }
}

TEST(Dim, BoundsFollowSymbols) {
  const Symbols symbols{{"N", {1, 8, 4}}, {"M", {}}};
  EXPECT_EQ((N() * 3 + 1).bounds(symbols), (SymbolInfo{4, 25, 13}));
  EXPECT_EQ((N() - 2).bounds(symbols), (SymbolInfo{-1, 6, 2}));
  EXPECT_EQ((M() + 1).bounds(symbols).max, INT64_MAX);
  EXPECT_EQ(floor_div(N() + 1, 2).bounds(symbols), (SymbolInfo{1, 4, 2}));
}

TEST(Dim, SubstitutesAndEvaluates) {
  const Dim dim = floor_div(N() + M(), 2);
  EXPECT_EQ(dim.substitute(Bindings{{"N", 3}}), floor_div(M() + 3, 2));
  EXPECT_EQ(dim.substitute(DimBindings{{"M", N()}}), N());
  LANNER_EXPECT_ERROR(dim.evaluate({{"N", 3}}), ErrorCode::invalid_argument, "symbol M has no value");
}

TEST(Dim, InvalidExpressionsAreRefused) {
  for (const char* text : {"", "N +", "N M", "(N", "N)", "1 // 0", "min(N)", "sqrt(N)", "9223372036854775808",
                           "$", "N // ", "4611686018427387904 * 2", "f(1, 2)", "99999999999999999999999999"})
    LANNER_EXPECT_ERROR(Dim::parse(text), ErrorCode::bad_data, "1:");
  LANNER_EXPECT_ERROR(Dim::symbol("a b"), ErrorCode::invalid_argument, "\"a b\"");
  LANNER_EXPECT_ERROR(Dim(INT64_MAX) + 1, ErrorCode::limit_exceeded, "64 bits");
}

TEST(Dim, LargeExpressionsAreBounded) {
  LANNER_EXPECT_ERROR(Dim::parse(std::string(100000, '(')), ErrorCode::bad_data, "nesting");
  std::string product = "(a+b+c+d+e+f+g+h)";
  for (int i = 0; i < 20; ++i) product += "*(a+b+c+d+e+f+g+h)";
  LANNER_EXPECT_ERROR(Dim::parse(product), ErrorCode::bad_data, "terms");
  std::string doubled = "N";
  for (int i = 0; i < 13; ++i) doubled = "max(" + doubled + "*M, " + doubled + ")";
  LANNER_EXPECT_ERROR(Dim::parse(doubled), ErrorCode::bad_data, "parts");
}

} // namespace lanner
