#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/tactic_check.h"

namespace lanner {
namespace {

struct Case {
  const char *shape, *scales, *attributes;
};

class NearestOfIntegers : public testing::TestWithParam<Case> {};

TEST_P(NearestOfIntegers, agrees_with_the_definition) {
  const Case& c = GetParam();
  for (const char* type : {"i8", "u8", "i16"}) {
    const auto ran = check_tactics(fmt::format(
        "graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n"
        "%s: f32[4] = constant() {{value = f32[4]({2})}}\n%y: {0}[*] = resize(%x, _, %s) {{{3}}}\n}}",
        type, c.shape, c.scales, c.attributes));
    EXPECT_TRUE(ran.contains("cpu/nearest")) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, NearestOfIntegers,
    testing::Values(Case{"[1, 5, 6, 7]", "1.0, 1.0, 2.0, 2.0",
                         "mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", "
                         "nearest_mode = \"floor\""},
                    Case{"[2, 32, 9, 40]", "1.0, 1.0, 3.0, 1.5", "mode = \"nearest\""},
                    Case{"[1, 3, 8, 9]", "1.0, 1.0, 0.5, 0.4", "mode = \"nearest\""},
                    Case{"[1, 3, 8, 9]", "1.0, 2.0, 1.0, 1.0", "mode = \"nearest\""},
                    Case{"[2, 1, 4, 5]", "2.0, 1.0, 1.0, 2.0", "mode = \"nearest\""}));

TEST(NearestOfIntegers, leaves_interpolation_to_the_definition) {
  expect_refused(check_tactics("graph @g(%x: u8[1, 2, 4, 4]) -> (%y: u8[*] as \"y\") {\n"
                               "%s: f32[4] = constant() {value = f32[4](1.0, 1.0, 2.0, 2.0)}\n"
                               "%y: u8[*] = resize(%x, _, %s) {mode = \"linear\"}\n}"),
                 {"cpu/nearest"});
}

} // namespace
} // namespace lanner
