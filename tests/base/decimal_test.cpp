#include "base/text/decimal.h"

#include <limits>

#include <gtest/gtest.h>

#include "comma_locale.h"

namespace lanner {
namespace {

void expect_decimals() {
  EXPECT_EQ(shortest_decimal(0.1f), 0.1);
  EXPECT_EQ(shortest_decimal(-0.485f), -0.485);
  EXPECT_EQ(shortest_decimal(1e-45f), 1e-45);
  EXPECT_EQ(shortest_decimal(114), 114);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(beyond_range("1.5e400"), infinity);
  EXPECT_EQ(beyond_range("-1.5e400"), -infinity);
  EXPECT_EQ(beyond_range("1.5e-400"), 0);
}

TEST(Decimal, NumbersAreTheirShortestDecimals) {
  expect_decimals();
}

TEST(Decimal, TheLocaleDoesNotMatter) {
  LANNER_WITH_DECIMAL_COMMA();
  expect_decimals();
}

} // namespace
} // namespace lanner
