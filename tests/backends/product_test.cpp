#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/backends.h"
#include "backends/config_text.h"
#include "backends/tactic_check.h"

namespace lanner {
namespace {

struct ProductCase {
  std::string a, b, op, attributes;
  std::vector<std::string> kernels;
  bool constant_b = true;
};
void PrintTo(const ProductCase& c, std::ostream* out) {
  *out << c.op << " " << c.a << " x " << c.b << " {" << c.attributes << "}";
}

class Products : public testing::TestWithParam<ProductCase> {};

std::string product_text(const ProductCase& c) {
  const std::string constant =
      fmt::format("%b: f32{} = constant() {{value = random(f32{}, seed = 5, std = 0.3)}}\n", c.b, c.b);
  return fmt::format(
      "graph @g(%a: f32{}{}) -> (%y: f32[*] as \"y\") {{\n{}%y: f32[*] = {}(%a, %b) {{{}}}\n}}", c.a,
      c.constant_b ? "" : fmt::format(", %b: f32{}", c.b), c.constant_b ? constant : "", c.op, c.attributes);
}

TEST_P(Products, agree_with_the_reference) {
  const ProductCase& c = GetParam();
  const auto ran = check_tactics(product_text(c));
  expect_offered(ran, {"reference/reference", "onednn/matmul"});
  expect_offered(ran, c.kernels);
}

TEST_P(Products, store_bf16) {
  if (const std::string missing = missing_bf16_products(); !missing.empty()) GTEST_SKIP() << missing;
  const ProductCase& c = GetParam();
  const auto ran = check_tactics(product_text(c), storing_bf16());
  expect_offered(ran, {"onednn/matmul_bf16"});
  const bool packed = std::ranges::find(c.kernels, "onednn/inner_product") != c.kernels.end();
  if (packed && c.constant_b) expect_offered(ran, {"onednn/inner_product_bf16"});
}

/// Products with one matrix for all rows of the other operand.
const std::vector<std::string> packing{"cpu/gemm", "onednn/inner_product"};

const ProductCase cases[] = {
    {"[1, 256]", "[256, 256]", "matmul", "", packing},
    {"[8, 256]", "[256, 16]", "matmul", "", packing},
    {"[3, 33]", "[33, 7]", "matmul", "", packing},
    {"[2, 5, 32]", "[32, 24]", "matmul", "", packing},
    {"[1, 2048]", "[1000, 2048]", "gemm", "transB = 1", packing},
    {"[37, 5]", "[37, 19]", "gemm", "transA = 1", {}},
    {"[17, 64]", "[50, 64]", "gemm", "transB = 1", packing},
    {"[2, 4, 9, 8]", "[2, 4, 8, 11]", "matmul", "", {}, false},
    {"[4, 9, 8]", "[8, 11]", "matmul", "", packing, false},
    {"[1, 9, 8]", "[3, 8, 11]", "matmul", "", {}, false},
    {"[64, 100]", "[100, 72]", "matmul", "", packing},
    {"[150, 64]", "[64, 40]", "matmul", "", {"onednn/inner_product"}},
    {"[150, 64]", "[64, 40]", "matmul", "", {"onednn/matmul"}, false},
    {"[3, 5, 9, 8]", "[3, 5, 8, 11]", "matmul", "", {}, false},
};
INSTANTIATE_TEST_SUITE_P(shapes, Products, testing::ValuesIn(cases));

std::string fused_product(std::string_view a, std::string_view b, std::string_view other,
                          std::string_view body, bool constant_other) {
  return fmt::format(
      "graph @g(%a: f32{0}{6}) -> (%y: f32[*] as \"y\") {{\n"
      "%b: f32{1} = constant() {{value = random(f32{1}, seed = 5, std = 0.3)}}\n{5}"
      "%y: f32[*] = fused(%a, %b, %o) {{kind = \"t\"}} ((%ai: f32{0}, %bi: f32{1}, %oi: f32{2}) -> (%r) "
      "{{\n{3}}})\n{4}}}",
      a, b, other, body, "",
      constant_other
          ? fmt::format("%o: f32{0} = constant() {{value = random(f32{0}, seed = 9, std = 1.0)}}\n", other)
          : "",
      constant_other ? "" : fmt::format(", %o: f32{}", other));
}

class ProductTails : public testing::TestWithParam<const char*> {};
TEST_P(ProductTails, are_fused) {
  for (const char* rows : {"[1, 64]", "[8, 64]", "[2, 3, 64]"}) {
    const auto ran = check_tactics(fused_product(
        rows, "[64, 48]", "[48]", std::string("%m: f32[*] = matmul(%ai, %bi)\n") + GetParam(), true));
    expect_offered(ran, {"cpu/gemm", "onednn/inner_product", "onednn/matmul"});
  }
}
INSTANTIATE_TEST_SUITE_P(bodies, ProductTails,
                         testing::Values("%r: f32[*] = add(%m, %oi)\n",
                                         "%s: f32[*] = add(%m, %oi)\n%r: f32[*] = relu(%s)\n",
                                         "%s: f32[*] = add(%oi, %m)\n%r: f32[*] = gelu(%s)\n",
                                         "%s: f32[*] = add(%m, %oi)\n%r: f32[*] = tanh(%s)\n",
                                         "%s: f32[*] = mul(%m, %oi)\n%r: f32[*] = sigmoid(%s)\n"));

TEST_P(ProductTails, store_bf16) {
  if (const std::string missing = missing_bf16_products(); !missing.empty()) GTEST_SKIP() << missing;
  const auto ran =
      check_tactics(fused_product("[8, 64]", "[64, 48]", "[48]",
                                  std::string("%m: f32[*] = matmul(%ai, %bi)\n") + GetParam(), true),
                    storing_bf16());
  expect_offered(ran, {"onednn/inner_product_bf16", "onednn/matmul_bf16"});
}

TEST(ProductTail, adds_full_operands_of_bf16) {
  if (const std::string missing = missing_bf16_products(); !missing.empty()) GTEST_SKIP() << missing;
  const auto ran = check_tactics(
      fused_product("[150, 64]", "[64, 48]", "[150, 48]",
                    "%m: f32[*] = matmul(%ai, %bi)\n%s: f32[*] = add(%m, %oi)\n%r: f32[*] = relu(%s)\n",
                    false),
      storing_bf16());
  expect_offered(ran, {"onednn/inner_product_bf16"});
}

TEST(ProductTail, adds_full_operands) {
  for (const char* rows : {"8", "150"}) {
    const auto ran = check_tactics(fused_product(
        fmt::format("[{}, 64]", rows), "[64, 48]", fmt::format("[{}, 48]", rows),
        "%m: f32[*] = matmul(%ai, %bi)\n%s: f32[*] = add(%m, %oi)\n%r: f32[*] = relu(%s)\n", false));
    expect_offered(ran, {"onednn/inner_product"});
  }
}

// Adjacent mul and add become one linear map; with a step between them they are two, of which oneDNN supports
// only one.
TEST(ProductTail, fuses_at_most_one_linear_map) {
  const std::string product = "%m: f32[*] = matmul(%ai, %bi)\n%s: f32[*] = mul(%m, %oi)\n";
  const auto adjacent = check_tactics(
      fused_product("[8, 64]", "[64, 48]", "[]", product + "%r: f32[*] = add(%s, %oi)\n", true));
  expect_offered(adjacent, {"onednn/inner_product"});
  const auto apart = check_tactics(fused_product(
      "[8, 64]", "[64, 48]", "[]", product + "%t: f32[*] = tanh(%s)\n%r: f32[*] = add(%t, %oi)\n", true));
  expect_offered(apart, {"cpu/gemm"});
  expect_refused(apart, {"onednn/inner_product", "onednn/matmul"});
}

TEST(ProductTail, takes_gemm_bias) {
  const auto ran = check_tactics(
      fused_product("[4, 64]", "[10, 64]", "[10]",
                    "%m: f32[*] = gemm(%ai, %bi, %oi) {transB = 1}\n%r: f32[*] = relu(%m)\n", true));
  expect_offered(ran, {"onednn/inner_product"});
}

/// Batches of products, followed by steps with two numbers.
std::set<std::string> check_scalar_tail(std::string_view body) {
  return check_tactics(fmt::format(
      "graph @g(%a: f32[2, 9, 8], %b: f32[2, 8, 11]) -> (%y: f32[*] as \"y\") {{\n"
      "%c: f32[] = constant() {{value = f32[](0.5)}}\n%d: f32[] = constant() {{value = f32[](3.0)}}\n"
      "%y: f32[*] = fused(%a, %b, %c, %d) {{kind = \"t\"}} ((%ai: f32[2, 9, 8], %bi: f32[2, 8, 11], %ci: "
      "f32[], %di: f32[]) -> (%r) {{\n"
      "%m: f32[*] = matmul(%ai, %bi)\n{}}})\n}}",
      body));
}

TEST(ScalarTails, of_one_linear_map_are_fused) {
  expect_offered(check_scalar_tail("%s: f32[*] = mul(%m, %ci)\n%r: f32[*] = add(%s, %di)\n"),
                 {"onednn/matmul"});
}

// Two steps of one kind with different numbers: oneDNN supports only one, so the group is not fused.
TEST(ScalarTails, of_two_are_left_alone) {
  for (const char* body :
       {"%s: f32[*] = mul(%m, %ci)\n%t: f32[*] = tanh(%s)\n%r: f32[*] = mul(%t, %di)\n",
        "%s: f32[*] = min(%m, %di)\n%t: f32[*] = mul(%s, %di)\n%r: f32[*] = min(%t, %ci)\n"})
    expect_refused(check_scalar_tail(body), {"onednn/matmul", "onednn/inner_product"});
}

/// The piece sizes in which oneDNN's products are offered, 0 for undivided.
std::set<std::int64_t> pieces_offered(std::string_view ir, int threads) {
  const NodeCase c = make_case(ir);
  Target target;
  target.threads = threads;
  std::set<std::int64_t> sizes;
  for (const Backend* backend : backends_for(target))
    if (backend->name() == "onednn")
      for (const Tactic& tactic : backend->tactics(*c.node, target).tactics)
        sizes.insert(ConfigText(tactic.config).integer("piece", 0));
  return sizes;
}

// Besides the undivided product, whose threads wait for each other: pieces of rows or matrices, of one thread
// each.
TEST(Product, is_offered_in_pieces_too) {
  if (const std::string missing = missing_backend("onednn"); !missing.empty()) GTEST_SKIP() << missing;
  const auto product = [](std::string_view a, std::string_view b) {
    return fmt::format(
        "graph @g(%a: f32{}, %b: f32{}) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] = matmul(%a, %b)\n}}", a, b);
  };
  EXPECT_EQ(pieces_offered(product("[200, 64]", "[64, 40]"), 2), (std::set<std::int64_t>{0, 50}));
  EXPECT_EQ(pieces_offered(product("[200, 64]", "[64, 40]"), 1), (std::set<std::int64_t>{0}));
  EXPECT_EQ(pieces_offered(product("[8, 64]", "[64, 40]"), 2), (std::set<std::int64_t>{0, 8}));
  EXPECT_EQ(pieces_offered(product("[100, 256]", "[256, 256]"), 2), (std::set<std::int64_t>{0, 50}));
  EXPECT_EQ(pieces_offered(product("[32, 256]", "[256, 256]"), 2), (std::set<std::int64_t>{0}));
  EXPECT_EQ(pieces_offered(product("[12, 9, 8]", "[12, 8, 11]"), 2), (std::set<std::int64_t>{0, 3}));
  EXPECT_EQ(pieces_offered(product("[1, 9, 8]", "[3, 8, 11]"), 2), (std::set<std::int64_t>{0}));
}

TEST(Product, takes_one_value_twice) {
  expect_offered(
      check_tactics(
          "graph @g(%x: f32[2, 12, 12]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = matmul(%x, %x)\n}"),
      {"onednn/matmul"});
  expect_offered(check_tactics("graph @g(%x: f32[12, 12]) -> (%y: f32[*] as \"y\") {\n"
                               "%y: f32[*] = fused(%x) {kind = \"t\"} ((%i: f32[12, 12]) -> (%r) {\n"
                               "%p: f32[*] = matmul(%i, %i)\n%r: f32[*] = add(%p, %i)\n})\n}"),
                 {"onednn/matmul", "onednn/inner_product"});
}

/// A step reads its operand as a whole value: a slice of a larger one is not taken where it is both.
TEST(Product, takes_no_slice_that_a_step_reads_too) {
  expect_offered(
      check_tactics("graph @g(%x: f32[4, 32]) -> (%y: f32[*] as \"y\") {\n"
                    "%w: f32[32, 32] = constant() {value = random(f32[32, 32], seed = 3, std = 0.2)}\n"
                    "%y: f32[*] = fused(%x, %w) {kind = \"t\"} ((%i: f32[4, 32], %j: f32[32, 32]) -> (%r) {\n"
                    "%p: f32[*] = matmul(%i, %j)\n%r: f32[*] = add(%p, %i)\n})\n}"),
      {"cpu/gemm"});
}

/// Three layers of 33, 40, 24 and 7 columns as one node; `last` computes %y3 from %p3.
std::string three_layers(const std::string& rows, const std::string& last) {
  return "graph @g(%x: f32[" + rows +
         ", 33]) -> (%y: f32[*] as \"y\") {\n"
         "%w1: f32[33, 40] = constant() {value = random(f32[33, 40], seed = 1, std = 0.3)}\n"
         "%w2: f32[40, 24] = constant() {value = random(f32[40, 24], seed = 2, std = 0.3)}\n"
         "%w3: f32[24, 7] = constant() {value = random(f32[24, 7], seed = 3, std = 0.3)}\n"
         "%b1: f32[40] = constant() {value = random(f32[40], seed = 4, std = 0.3)}\n"
         "%b3: f32[7] = constant() {value = random(f32[7], seed = 5, std = 0.3)}\n"
         "%y: f32[*] = fused(%x, %w1, %w2, %w3, %b1, %b3) {kind = \"t\"} ((%xi: f32[" +
         rows +
         ", 33], %wi1: f32[33, 40], %wi2: f32[40, 24], %wi3: f32[24, 7], %bi1: f32[40], %bi3: f32[7]) -> "
         "(%y3) {\n"
         "%p1: f32[*] = matmul(%xi, %wi1)\n%s1: f32[*] = add(%bi1, %p1)\n%r1: f32[*] = relu(%s1)\n"
         "%p2: f32[*] = matmul(%r1, %wi2)\n%r2: f32[*] = sigmoid(%p2)\n"
         "%p3: f32[*] = matmul(%r2, %wi3)\n" +
         last + "})\n}";
}

TEST(Mlp, agrees_with_the_reference) {
  for (const char* rows : {"1", "3", "17", "64"})
    for (const char* last : {"%y3: f32[*] = add(%p3, %bi3)\n", "%y3: f32[*] = gelu(%p3)\n",
                             "%s3: f32[*] = tanh(%p3)\n%y3: f32[*] = add(%s3, %bi3)\n"})
      EXPECT_TRUE(check_tactics(three_layers(rows, last)).contains("cpu/mlp")) << rows << last;
}

TEST(Mlp, refuses_other_steps) {
  EXPECT_FALSE(check_tactics(three_layers("3", "%y3: f32[*] = mul(%p3, %bi3)\n")).contains("cpu/mlp"));
  EXPECT_FALSE(check_tactics(three_layers("65", "%y3: f32[*] = add(%p3, %bi3)\n")).contains("cpu/mlp"));
}
} // namespace
} // namespace lanner
