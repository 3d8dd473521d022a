#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/tactic_check.h"

namespace lanner {
namespace {

std::set<std::string> run_reduction(const std::string& input, const std::string& call,
                                    const std::string& axes = {}, double tolerance = 2e-5) {
  const std::string constants = axes.empty() ? ""
                                             : fmt::format("%a: {} = constant() {{value = {}}}\n",
                                                           axes.substr(0, axes.find('(')), axes);
  return check_tactics(fmt::format("graph @g(%x: f32{}) -> (%y: f32[*] as \"y\") {{\n{}%y: f32[*] = {}\n}}",
                                   input, constants, call),
                       {.tolerance = tolerance});
}

struct Sum {
  std::string input, axes;
};
void PrintTo(const Sum& c, std::ostream* out) {
  *out << c.input << " along " << c.axes;
}

class Sums : public testing::TestWithParam<Sum> {};

TEST_P(Sums, agree_with_the_reference) {
  for (const char* kind : {"reduce_sum", "reduce_mean"})
    for (const char* keep : {"0", "1"}) {
      const auto ran = run_reduction(
          GetParam().input, fmt::format("{}(%x, %a) {{keepdims = {}}}", kind, keep), GetParam().axes);
      EXPECT_TRUE(ran.contains("cpu/reduce")) << kind;
    }
}

const Sum sums[] = {
    {"[7]", "i64[1](0)"},
    {"[1000003]", "i64[1](0)"},
    {"[5, 300]", "i64[1](-1)"},
    {"[300, 5]", "i64[1](0)"},
    {"[2, 197, 65]", "i64[1](1)"},
    {"[3, 4, 5, 131]", "i64[2](0, 1)"},
    {"[2, 24, 9, 7]", "i64[2](2, 3)"},
    {"[2, 5, 9, 7]", "i64[1](1)"},
    {"[2, 3, 1, 7, 1]", "i64[2](1, 3)"},
    {"[2, 3, 4, 5, 6]", "i64[3](2, 3, 4)"},
    {"[1, 1, 1]", "i64[1](1)"},
};
INSTANTIATE_TEST_SUITE_P(cases, Sums, testing::ValuesIn(sums));

TEST(Reduce, takes_what_is_kept_around_what_is_reduced_only) {
  EXPECT_FALSE(run_reduction("[4, 5, 6, 7]", "reduce_sum(%x, %a)", "i64[2](0, 3)").contains("cpu/reduce"));
}

TEST(Reduce, pools_in_every_layout) {
  for (const char* input : {"[2, 3, 5, 5]", "[1, 72, 7, 9]", "[3, 130, 4]", "[2, 17, 3, 4, 5]"})
    EXPECT_TRUE(run_reduction(input, "global_average_pool(%x)").contains("cpu/reduce")) << input;
}

// One chain of 12,544 sums is off by several millionths.
TEST(Reduce, rounds_long_sums_little) {
  const auto ran = run_reduction("[2, 72, 112, 112]", "global_average_pool(%x)", {}, 1e-6);
  EXPECT_TRUE(ran.contains("cpu/reduce"));
  expect_refused(ran, {"onednn/pool"});
}

} // namespace
} // namespace lanner
