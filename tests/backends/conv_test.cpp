#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/conv_cases.h"
#include "backends/tactic_check.h"
#include "run/lowered_text.h"
#include "text_parts.h"

namespace lanner {
namespace {

using test::ConvCase;

class Conv : public testing::TestWithParam<ConvCase> {};

std::string plain(const ConvCase& c, std::string_view op = "conv") {
  return fmt::format("graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n"
                     "%w: {0}{2} = constant() {{value = random({0}{2}, seed = 5, std = 0.3)}}\n"
                     "%y: {0}[*] = {3}(%x, %w, _) {{{4}}}\n}}",
                     c.type, c.input, c.weights, op, c.attributes);
}

TEST_P(Conv, agrees_with_the_reference) {
  expect_offered(check_tactics(plain(GetParam())), {"reference/reference", "onednn/conv"});
}

TEST_P(Conv, stores_bf16) {
  if (const std::string missing = missing_bf16_products(); !missing.empty()) GTEST_SKIP() << missing;
  expect_offered(check_tactics(plain(GetParam()), storing_bf16()), {"onednn/conv_bf16"});
}

INSTANTIATE_TEST_SUITE_P(shapes, Conv, testing::ValuesIn(test::conv_cases));
const ConvCase more_conv_cases[] = {
    {"[1, 20, 9, 9]", "[20, 1, 5, 5]", "group = 20, auto_pad = \"SAME_UPPER\""},
    {"[1, 12, 6, 6]", "[18, 4, 3, 3]", "group = 3, pads = [1, 1, 1, 1]"},
    {"[2, 4, 1, 1]", "[4, 4, 1, 1]", ""},
    {"[3, 1, 7, 7]", "[1, 1, 3, 3]", "pads = [1, 1, 1, 1]"},
    {"[2, 1, 9]", "[1, 1, 3]", "strides = [3]"},
};
INSTANTIATE_TEST_SUITE_P(more_shapes, Conv, testing::ValuesIn(more_conv_cases));

/// In the given layout oneDNN runs it only as one-column products per channel, which take a hundred times as
/// long.
TEST(DepthwiseConv, is_worth_two_reorders) {
  const std::string lowered =
      test::engine_of(
          "graph @g(%x: f32[1, 192, 28, 28]) -> (%y: f32[*] as \"y\") {\n"
          "%w: f32[192, 1, 3, 3] = constant() {value = random(f32[192, 1, 3, 3], seed = 5, std = 0.3)}\n"
          "%y: f32[*] = conv(%x, %w, _) {group = 192, pads = [1, 1, 1, 1]}\n}",
          2)
          .lowered_ir();
  EXPECT_EQ(test::count(lowered, "= reorder("), 2u) << lowered;
}

class ConvTranspose : public testing::TestWithParam<ConvCase> {};
TEST_P(ConvTranspose, agrees_with_the_reference) {
  expect_offered(check_tactics(plain(GetParam(), "conv_transpose")),
                 {"reference/reference", "onednn/conv_transpose"});
}
const ConvCase transposed_cases[] = {
    {"[1, 16, 5, 5]", "[16, 32, 3, 3]", ""},
    {"[2, 16, 5, 7]", "[16, 16, 2, 2]", "strides = [2, 2]"},
    {"[1, 8, 5, 5]", "[8, 5, 3, 3]", "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]"},
    {"[1, 12, 4, 4]", "[12, 2, 3, 3]", "group = 3, pads = [1, 1, 1, 1]"},
    {"[1, 16, 4, 4]", "[16, 1, 3, 3]", "group = 16, strides = [2, 2]"},
};
INSTANTIATE_TEST_SUITE_P(shapes, ConvTranspose, testing::ValuesIn(transposed_cases));

/// conv of 2x16x6x6 to 2x24x6x6 with a bias, then `body`, which computes %r from %c and may read %o, of type
/// `other`.
std::string fused(std::string_view body, std::string_view other = "[2, 24, 6, 6]",
                  bool constant_other = false) {
  const std::string parameter = constant_other ? "" : fmt::format(", %o: f32{}", other);
  const std::string constant =
      constant_other ? fmt::format("%o: f32{} = constant() {{value = random(f32{}, seed = 9, std = 1.0)}}\n",
                                   other, other)
                     : "";
  return fmt::format(
      "graph @g(%x: f32[2, 16, 6, 6]{}) -> (%y: f32[*] as \"y\") {{\n{}"
      "%w: f32[24, 16, 3, 3] = constant() {{value = random(f32[24, 16, 3, 3], seed = 5, std = 0.1)}}\n"
      "%b: f32[24] = constant() {{value = random(f32[24], seed = 6, std = 1.0)}}\n"
      "%y: f32[*] = fused(%x, %w, %b, %o) {{kind = \"t\"}} "
      "((%xi: f32[2, 16, 6, 6], %wi: f32[24, 16, 3, 3], %bi: f32[24], %oi: f32{}) -> (%r) {{\n"
      "%c: f32[*] = conv(%xi, %wi, %bi) {{pads = [1, 1, 1, 1]}}\n{}}})\n}}",
      parameter, constant, other, body);
}

class Epilogues : public testing::TestWithParam<const char*> {};
TEST_P(Epilogues, are_fused) {
  expect_offered(check_tactics(fused(GetParam())), {"onednn/conv"});
}
INSTANTIATE_TEST_SUITE_P(
    bodies, Epilogues,
    testing::Values("%r: f32[*] = add(%c, %oi)\n", "%s: f32[*] = add(%oi, %c)\n%r: f32[*] = relu(%s)\n",
                    "%s: f32[*] = relu(%c)\n%r: f32[*] = add(%s, %oi)\n", "%r: f32[*] = mul(%c, %oi)\n",
                    "%r: f32[*] = sub(%oi, %c)\n", "%s: f32[*] = sigmoid(%c)\n%r: f32[*] = add(%s, %oi)\n",
                    "%s: f32[*] = sigmoid(%c)\n%t: f32[*] = mul(%c, %s)\n%r: f32[*] = add(%t, %oi)\n",
                    "%s: f32[*] = hard_swish(%c)\n%r: f32[*] = add(%s, %oi)\n",
                    "%s: f32[*] = leaky_relu(%c) {alpha = 0.1}\n%r: f32[*] = max(%s, %oi)\n",
                    "%s: f32[*] = hard_sigmoid(%c)\n%r: f32[*] = mul(%s, %oi)\n"));

TEST(ConvTail, takes_channel_operands) {
  const std::string body = "%r: f32[*] = mul(%c, %oi)\n";
  expect_offered(check_tactics(fused(body, "[24, 1, 1]", true)), {"onednn/conv"});
  expect_offered(check_tactics(fused(body, "[1, 24, 1, 1]")), {"onednn/conv"});
}

TEST(ConvTail, does_not_fuse_clips_with_an_empty_range) {
  expect_refused(check_tactics(fused("%lo: f32[] = constant() {value = f32[](3)}\n"
                                     "%hi: f32[] = constant() {value = f32[](1)}\n"
                                     "%r: f32[*] = clip(%c, %lo, %hi)\n")),
                 {"onednn/conv"});
}

TEST(ConvTail, refuses_other_broadcasts) {
  expect_refused(check_tactics(fused("%r: f32[*] = mul(%c, %oi)\n", "[2, 24, 1, 1]")), {"onednn/conv"});
}

/// A padded 3x3 convolution to which `other` is added, or from which it is subtracted; its result has the
/// shape `result`.
std::string residual(std::string_view input, std::string_view weights, std::string_view result,
                     std::string_view other, std::string_view step) {
  return fmt::format(
      "graph @g(%x: f32{0}, %o: f32{3}) -> (%y: f32[*] as \"y\") {{\n"
      "%w: f32{1} = constant() {{value = random(f32{1}, seed = 5, std = 0.3)}}\n"
      "%y: f32{2} = fused(%x, %w, %o) {{kind = \"t\"}} ((%xi: f32{0}, %wi: f32{1}, %oi: f32{3}) -> (%r) {{\n"
      "%c: f32{2} = conv(%xi, %wi, _) {{pads = [1, 1, 1, 1]}}\n%r: f32{2} = {4}(%c, %oi)\n}})\n}}",
      input, weights, result, other, step);
}

TEST(ConvTail, takes_operands_with_sizes_of_one) {
  const auto expect_taken = [](const std::string& ir) { expect_offered(check_tactics(ir), {"onednn/conv"}); };
  for (const char* step : {"add", "sub"}) {
    expect_taken(residual("[2, 3, 8, 8]", "[1, 3, 3, 3]", "[2, 1, 8, 8]", "[2, 1, 8, 8]", step));
    expect_taken(residual("[1, 3, 8, 8]", "[1, 3, 3, 3]", "[1, 1, 8, 8]", "[8, 8]", step));
    expect_taken(residual("[1, 3, 8, 8]", "[5, 3, 3, 3]", "[1, 5, 8, 8]", "[5, 8, 8]", step));
    expect_taken(residual("[3, 6, 1, 1]", "[5, 6, 3, 3]", "[3, 5, 1, 1]", "[3, 5, 1, 1]", step));
  }
}

TEST(ConvTail, takes_the_convolutions_input_as_operand) {
  for (const int channels : {3, 4, 16, 20}) {
    const auto ran = check_tactics(fmt::format(
        "graph @g(%x: f32[2, {0}, 9, 9]) -> (%y: f32[*] as \"y\") {{\n"
        "%w: f32[{0}, {0}, 3, 3] = constant() {{value = random(f32[{0}, {0}, 3, 3], seed = 5, std = 0.3)}}\n"
        "%y: f32[*] = fused(%x, %w) {{kind = \"t\"}} "
        "((%xi: f32[2, {0}, 9, 9], %wi: f32[{0}, {0}, 3, 3]) -> (%r) {{\n"
        "%c: f32[*] = conv(%xi, %wi, _) {{pads = [1, 1, 1, 1]}}\n%r: f32[*] = add(%xi, %c)\n}})\n}}",
        channels));
    expect_offered(ran, {"onednn/conv"});
  }
}

} // namespace
} // namespace lanner
