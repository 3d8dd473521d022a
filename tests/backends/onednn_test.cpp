// The oneDNN families that are a single primitive each.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/tactic_check.h"

namespace lanner {
namespace {

struct Single {
  std::string kernel, input, call;
  std::string constants;
};
void PrintTo(const Single& c, std::ostream* out) {
  *out << c.input << " -> " << c.call;
}

class Singles : public testing::TestWithParam<Single> {};

TEST_P(Singles, agree_with_the_reference) {
  const Single& c = GetParam();
  const auto ran =
      check_tactics(fmt::format("graph @g(%x: f32{}) -> (%y: f32[*] as \"y\") {{\n{}%y: f32[*] = {}\n}}",
                                c.input, c.constants, c.call));
  expect_offered(ran, {"onednn/" + c.kernel});
}

std::string vector_constant(const char* name, const char* shape, int seed) {
  return fmt::format("%{0}: f32{1} = constant() {{value = random(f32{1}, seed = {2}, std = 1.0)}}\n", name,
                     shape, seed);
}

const Single cases[] = {
    {"pool", "[1, 16, 9, 9]", "max_pool(%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}",
     ""},
    {"pool", "[2, 5, 9, 8]", "max_pool(%x) {kernel_shape = [2, 3], strides = [2, 1], ceil_mode = 1}", ""},
    {"pool", "[1, 20, 9, 9]",
     "average_pool(%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}", ""},
    {"pool", "[1, 20, 9, 9]",
     "average_pool(%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1}",
     ""},
    {"pool", "[1, 20, 8, 8]", "average_pool(%x) {kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1}",
     ""},
    {"pool", "[2, 40, 7, 7]", "global_average_pool(%x)", ""},
    {"pool", "[2, 3, 7, 7]", "global_max_pool(%x)", ""},
    {"pool", "[1, 16, 20]", "max_pool(%x) {kernel_shape = [3]}", ""},
    {"pool", "[1, 16, 4, 5, 6]", "average_pool(%x) {kernel_shape = [2, 2, 2]}", ""},
    {"softmax", "[4, 1000]", "softmax(%x)", ""},
    {"softmax", "[2, 21, 5, 5]", "softmax(%x) {axis = 1}", ""},
    {"softmax", "[2, 3, 50]", "log_softmax(%x)", ""},
    {"layer_normalization", "[2, 5, 64]", "layer_normalization(%x, %s, %b)",
     vector_constant("s", "[64]", 3) + vector_constant("b", "[64]", 4)},
    {"lrn", "[1, 16, 5, 5]", "lrn(%x) {size = 5, alpha = 0.1}", ""},
    {"resize", "[1, 16, 5, 5]",
     "resize(%x, _, %s) {mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = "
     "\"floor\"}",
     "%s: f32[4] = constant() {value = f32[4](1.0, 1.0, 2.0, 3.0)}\n"},
    {"resize", "[1, 6, 5, 5]", "resize(%x, _, %s) {mode = \"linear\"}",
     "%s: f32[4] = constant() {value = f32[4](1.0, 1.0, 2.0, 2.0)}\n"},
    {"reduce", "[2, 24, 7, 7]", "reduce_mean(%x, %a)", "%a: i64[2] = constant() {value = i64[2](2, 3)}\n"},
    {"reduce", "[2, 24, 7, 7]", "reduce_sum(%x, %a) {keepdims = 0}",
     "%a: i64[1] = constant() {value = i64[1](-1)}\n"},
};
INSTANTIATE_TEST_SUITE_P(cases, Singles, testing::ValuesIn(cases));

TEST(Onednn, batch_normalization_agrees) {
  const std::string constants = vector_constant("s", "[20]", 3) + vector_constant("b", "[20]", 4) +
                                vector_constant("m", "[20]", 5) + vector_constant("r", "[20]", 6) +
                                "%v: f32[20] = abs(%r)\n";
  const auto ran = check_tactics("graph @g(%x: f32[2, 20, 5, 5]) -> (%y: f32[*] as \"y\") {\n" + constants +
                                 "%y: f32[*] = batch_normalization(%x, %s, %b, %m, %v)\n}");
  expect_offered(ran, {"onednn/batch_normalization"});
}

TEST(Onednn, batch_normalization_is_left_to_others_in_training_and_where_padding_would_divide_by_zero) {
  const auto text = [](const char* attributes) {
    return std::string("graph @g(%x: f32[2, 20, 5, 5]) -> (%y: f32[*] as \"y\") {\n"
                       "%s: f32[20] = constant() {value = random(f32[20], seed = 1, std = 1.0)}\n"
                       "%r: f32[20] = constant() {value = random(f32[20], seed = 4, std = 1.0)}\n"
                       "%v: f32[20] = abs(%r)\n%y: f32[*] = batch_normalization(%x, %s, %s, %r, %v) ") +
           attributes + "\n}";
  };
  expect_refused(check_tactics(text("{training_mode = 1}")), {"onednn/batch_normalization"});
  expect_offered(check_tactics(text("{epsilon = 0.0}")), {"onednn/batch_normalization"});
}

TEST(Onednn, lrn_of_a_base_that_may_be_zero_is_left_to_others) {
  for (const char* attributes : {"alpha = -1.0", "alpha = -1e+30", "bias = 0.0"})
    expect_refused(check_tactics(fmt::format("graph @g(%x: f32[1, 20, 4, 4]) -> (%y: f32[*] as \"y\") {{\n"
                                             "%y: f32[*] = lrn(%x) {{size = 3, {}}}\n}}",
                                             attributes)),
                   {"onednn/lrn"});
}

TEST(Onednn, log_softmax_of_one_element_is_zero) {
  for (const char* shape : {"[1, 1]", "[5, 1]", "[1, 1, 2, 16]"})
    expect_refused(check_tactics(fmt::format("graph @g(%x: f32{}) -> (%y: f32[*] as \"y\") {{\n"
                                             "%y: f32[*] = log_softmax(%x) {{axis = 1}}\n}}",
                                             shape)),
                   {"onednn/softmax"});
}

TEST(Onednn, concat_agrees) {
  const auto ran = check_tactics(
      "graph @g(%a: f32[1, 16, 4, 5], %b: f32[1, 32, 4, 5], %c: f32[1, 5, 4, 5]) -> (%y: f32[*] as \"y\") {\n"
      "%y: f32[*] = concat(%a, %b, %c) {axis = 1}\n}");
  expect_offered(ran, {"onednn/concat"});
}

class Reorders : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};
TEST_P(Reorders, keep_the_elements) {
  const auto [shape, from, to] = GetParam();
  const auto ran = check_tactics(fmt::format("graph @g(%x: f32{0} @ {1}) -> (%y: f32{0} as \"y\") {{\n"
                                             "%y: f32{0} @ {2} = reorder(%x)\n}}",
                                             shape, from, to));
  expect_offered(ran, {"onednn/reorder"});
  const bool blocks = std::string(from).starts_with("aB") || std::string(to).starts_with("aB");
  EXPECT_TRUE(ran.contains(blocks ? "cpu/copy" : "cpu/movement"));
}
INSTANTIATE_TEST_SUITE_P(layouts, Reorders,
                         testing::Combine(testing::Values("[2, 32, 5, 7]", "[1, 20, 6, 6]"),
                                          testing::Values("row", "acdb", "aBcd16b", "aBcd8b"),
                                          testing::Values("row", "acdb", "aBcd16b", "aBcd8b")));

} // namespace
} // namespace lanner
