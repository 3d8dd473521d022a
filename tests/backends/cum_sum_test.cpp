// cum_sum against its definition.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/tactic_check.h"

namespace lanner {
namespace {

struct Summed {
  const char* input;
  int axis;
};
void PrintTo(const Summed& c, std::ostream* out) {
  *out << c.input << " along " << c.axis;
}

class CumSums : public testing::TestWithParam<Summed> {};

TEST_P(CumSums, agree_with_the_definition) {
  for (const char* type : {"f32", "i32", "i64"})
    for (const char* axis_type : {"i32", "i64"})
      for (const int reverse : {0, 1})
        for (const int exclusive : {0, 1})
          for (const int threads : {1, 3}) {
            const auto ran = check_tactics(
                fmt::format("graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n%a: {2}[] = constant() "
                            "{{value = {2}[]({3})}}\n%y: {0}[*] = cum_sum(%x, %a) {{reverse = {4}, exclusive "
                            "= {5}}}\n}}",
                            type, GetParam().input, axis_type, GetParam().axis, reverse, exclusive),
                {.threads = threads, .tolerance = 1e-7});
            EXPECT_TRUE(ran.contains("cpu/cum_sum")) << type;
          }
}

const Summed summed[] = {
    {"[1]", 0},       {"[7]", -1},          {"[5, 300]", 1},     {"[300, 5]", 0},
    {"[2, 9, 1]", 1}, {"[2, 33, 1100]", 1}, {"[3, 4, 1, 5]", 2}, {"[40, 7, 90]", -1},
};
INSTANTIATE_TEST_SUITE_P(cases, CumSums, testing::ValuesIn(summed));

TEST(CumSum, rejects_other_types_and_axes_known_only_at_run_time) {
  EXPECT_FALSE(check_tactics("graph @g(%x: f64[5, 3]) -> (%y: f64[*] as \"y\") {\n%a: i64[] = constant() "
                             "{value = i64[](1)}\n%y: f64[*] = cum_sum(%x, %a)\n}")
                   .contains("cpu/cum_sum"));
}

} // namespace
} // namespace lanner
