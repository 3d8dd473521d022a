// Convolutions and products of values that are stored as bf16, by each set of functions that this processor
// can run, against the definitions.

#include <gtest/gtest.h>

#include <cstring>

#include "backends/config_text.h"
#include "backends/contraction/contraction_kernel.h"
#include "backends/contraction/expect_close.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

struct RealGraph {
  bool conv;
  const char* text;
};
void PrintTo(const RealGraph& c, std::ostream* out) {
  *out << c.text;
}

Tensor as_reals(const Tensor& tensor) {
  Tensor result = Tensor::allocate(DType::f32, tensor.shape());
  copy_tensor(tensor, result);
  return result;
}

constexpr double of_bf16 = 1e-2;

std::vector<std::vector<std::byte>> configs_of(const Contraction& contraction,
                                               const BlockFunctions& functions) {
  std::vector<std::vector<std::byte>> all;
  for (const RowForm form : row_forms(contraction, functions))
    for (const int threads : {1, 3}) all.push_back(contraction_config(functions, form, threads));
  return all;
}

/// Each form of rows, on 1 and on 3 threads, twice each: the results have the same bits.
void run_and_compare(const NodeCase& c, bool conv, const BlockFunctions& functions) {
  SCOPED_TRACE(std::string(functions.name));
  std::string reason;
  const auto contraction = real_contraction_of(Group::of(*c.node), conv, reason);
  ASSERT_TRUE(contraction) << reason;
  auto tactic = contraction_tactic(*c.node, *contraction, functions, conv ? "bf16_conv" : "bf16_matmul");
  ASSERT_TRUE(tactic);
  Target target;
  target.threads = 3;
  Tensor first;
  for (const auto& config : configs_of(*contraction, functions)) {
    tactic->config = config;
    ReadyTactic ready = make_ready(c, cpu_backend(), *tactic, target);
    for (int run = 0; run < 2; ++run) {
      ready.launch();
      const Tensor result = as_reals(ready.outputs[0]);
      test::expect_close(result, c.results[0], of_bf16);
      if (!first.defined()) first = result;
      EXPECT_EQ(std::memcmp(result.data(), first.data(), first.bytes()), 0);
    }
  }
}

class RealContractions : public testing::TestWithParam<RealGraph> {};

TEST_P(RealContractions, agree_with_the_definition) {
  const NodeCase c = make_case(GetParam().text);
  for (const BlockFunctions* functions : all_bf16_functions())
    run_and_compare(c, GetParam().conv, *functions);
}

const RealGraph graphs[] = {
    {true, "graph @g(%x: f32[2, 32, 7, 5]) -> (%y) {\n"
           "%w: f32[33, 32, 1, 1] = constant() {value = random(f32[33, 32, 1, 1], seed = 3, std = 0.2)}\n"
           "%y: f32[2, 33, 7, 5] = conv(%x, %w)\n}"},
    {true, "graph @g(%x: f32[1, 3, 20, 20]) -> (%y) {\n"
           "%w: f32[16, 3, 7, 7] = constant() {value = random(f32[16, 3, 7, 7], seed = 3, std = 0.1)}\n"
           "%b: f32[16] = constant() {value = random(f32[16], seed = 4, std = 1.0)}\n"
           "%y: f32[1, 16, 10, 10] = conv(%x, %w, %b) {strides = [2, 2], pads = [3, 3, 3, 3]}\n}"},
    {true, "graph @g(%x: f32[2, 64, 9, 8], %z: f32[2, 70, 9, 8]) -> (%y) {\n"
           "%w: f32[70, 64, 3, 3] = constant() {value = random(f32[70, 64, 3, 3], seed = 3, std = 0.1)}\n"
           "%y: f32[2, 70, 9, 8] = fused(%x, %w, %z) {kind = \"t\"} ((%p: f32[2, 64, 9, 8], %q: "
           "f32[70, 64, 3, 3], %r: f32[2, 70, 9, 8]) -> (%c) {\n"
           "%a: f32[2, 70, 9, 8] = conv(%p, %q) {pads = [1, 1, 1, 1]}\n"
           "%b: f32[2, 70, 9, 8] = add(%a, %r)\n%c: f32[2, 70, 9, 8] = relu(%b)\n})\n}"},
    {true, "graph @g(%x: f32[1, 24, 6, 6], %z: f32[1, 20, 6, 6]) -> (%y) {\n"
           "%w: f32[20, 24, 1, 1] = constant() {value = random(f32[20, 24, 1, 1], seed = 3, std = 0.2)}\n"
           "%y: f32[1, 20, 6, 6] = fused(%x, %w, %z) {kind = \"t\"} ((%p: f32[1, 24, 6, 6], %q: "
           "f32[20, 24, 1, 1], %r: f32[1, 20, 6, 6]) -> (%c) {\n"
           "%a: f32[1, 20, 6, 6] = conv(%p, %q)\n%b: f32[1, 20, 6, 6] = gelu(%a)\n"
           "%c: f32[1, 20, 6, 6] = mul(%b, %r)\n})\n}"},
    {true, "graph @g(%x: f32[1, 64, 6, 7]) -> (%y) {\n"
           "%w: f32[64, 32, 3, 3] = constant() {value = random(f32[64, 32, 3, 3], seed = 3, std = 0.1)}\n"
           "%y: f32[1, 64, 6, 7] = conv(%x, %w) {group = 2, pads = [1, 1, 1, 1]}\n}"},
    {true, "graph @g(%x: f32[2, 64, 5, 5]) -> (%y) {\n"
           "%w: f32[64, 32, 1, 1] = constant() {value = random(f32[64, 32, 1, 1], seed = 3, std = 0.2)}\n"
           "%y: f32[2, 64, 5, 5] = conv(%x, %w) {group = 2}\n}"},
    {true, "graph @g(%x: f32[1, 20, 9, 9]) -> (%y) {\n"
           "%w: f32[40, 10, 3, 3] = constant() {value = random(f32[40, 10, 3, 3], seed = 3, std = 0.1)}\n"
           "%y: f32[1, 40, 5, 5] = conv(%x, %w) {group = 2, dilations = [2, 2], strides = [1, 1]}\n}"},
    {true, "graph @g(%x: f32[2, 7, 30]) -> (%y) {\n"
           "%w: f32[9, 7, 5] = constant() {value = random(f32[9, 7, 5], seed = 3, std = 0.2)}\n"
           "%y: f32[2, 9, 30] = conv(%x, %w) {pads = [2, 2]}\n}"},
    {false, "graph @g(%x: f32[37, 96]) -> (%y) {\n"
            "%w: f32[96, 80] = constant() {value = random(f32[96, 80], seed = 3, std = 0.2)}\n"
            "%y: f32[37, 80] = matmul(%x, %w)\n}"},
    {false, "graph @g(%x: f32[1, 100]) -> (%y) {\n"
            "%w: f32[33, 100] = constant() {value = random(f32[33, 100], seed = 3, std = 0.2)}\n"
            "%b: f32[33] = constant() {value = random(f32[33], seed = 4, std = 1.0)}\n"
            "%y: f32[1, 33] = gemm(%x, %w, %b) {transB = 1}\n}"},
    {false, "graph @g(%x: f32[2, 19, 51]) -> (%y) {\n"
            "%w: f32[51, 40] = constant() {value = random(f32[51, 40], seed = 3, std = 0.2)}\n"
            "%b: f32[40] = constant() {value = random(f32[40], seed = 4, std = 1.0)}\n"
            "%y: f32[2, 19, 40] = fused(%x, %w, %b) {kind = \"t\"} ((%p: f32[2, 19, 51], %q: f32[51, 40], "
            "%r: f32[40]) -> (%d) {\n"
            "%a: f32[2, 19, 40] = matmul(%p, %q)\n%c: f32[2, 19, 40] = add(%a, %r)\n"
            "%d: f32[2, 19, 40] = sigmoid(%c)\n})\n}"},
    // Windows of which rows share pixels: several images in a block, parts of a line, lines far apart, wide
    // padding, a result of one pixel, an image of several blocks.
    {true, "graph @g(%x: f32[9, 32, 7, 7]) -> (%y) {\n"
           "%w: f32[40, 32, 3, 3] = constant() {value = random(f32[40, 32, 3, 3], seed = 3, std = 0.1)}\n"
           "%y: f32[9, 40, 7, 7] = conv(%x, %w) {pads = [1, 1, 1, 1]}\n}"},
    {true, "graph @g(%x: f32[1, 64, 3, 100]) -> (%y) {\n"
           "%w: f32[16, 64, 1, 5] = constant() {value = random(f32[16, 64, 1, 5], seed = 3, std = 0.1)}\n"
           "%y: f32[1, 16, 4, 97] = conv(%x, %w) {pads = [0, 0, 1, 1]}\n}"},
    {true, "graph @g(%x: f32[2, 32, 11, 6]) -> (%y) {\n"
           "%w: f32[33, 32, 3, 1] = constant() {value = random(f32[33, 32, 3, 1], seed = 3, std = 0.2)}\n"
           "%y: f32[2, 33, 9, 12] = conv(%x, %w) {pads = [2, 3, 2, 3], dilations = [3, 1]}\n}"},
    {true, "graph @g(%x: f32[1, 128, 4, 3]) -> (%y) {\n"
           "%w: f32[70, 128, 4, 3] = constant() {value = random(f32[70, 128, 4, 3], seed = 3, std = 0.05)}\n"
           "%y: f32[1, 70, 1, 1] = conv(%x, %w)\n}"},
    {true, "graph @g(%x: f32[2, 128, 61, 57]) -> (%y) {\n"
           "%w: f32[20, 128, 3, 3] = constant() {value = random(f32[20, 128, 3, 3], seed = 3, std = 0.05)}\n"
           "%y: f32[2, 20, 61, 57] = conv(%x, %w) {pads = [1, 1, 1, 1]}\n}"},
    {true, "graph @g(%x: f32[3, 32, 40]) -> (%y) {\n"
           "%w: f32[20, 32, 5] = constant() {value = random(f32[20, 32, 5], seed = 3, std = 0.1)}\n"
           "%y: f32[3, 20, 20] = conv(%x, %w) {pads = [2, 2], strides = [2]}\n}"},
};
INSTANTIATE_TEST_SUITE_P(graphs, RealContractions, testing::ValuesIn(graphs));

TEST(RealContractions, keep_what_is_not_a_number_in_its_own_row) {
  NodeCase c = make_case("graph @g(%x: f32[3, 40]) -> (%y) {\n"
                         "%w: f32[40, 5] = constant() {value = random(f32[40, 5], seed = 3, std = 0.2)}\n"
                         "%y: f32[3, 5] = matmul(%x, %w)\n}");
  Tensor x = as_reals(c.inputs[0]);
  x.as<float>()[40] = NAN;
  x.as<float>()[85] = INFINITY;
  const NodeCase with =
      make_case("graph @g(%x: f32[3, 40]) -> (%y) {\n"
                "%w: f32[40, 5] = constant() {value = random(f32[40, 5], seed = 3, std = 0.2)}\n"
                "%y: f32[3, 5] = matmul(%x, %w)\n}",
                {x});
  for (const BlockFunctions* functions : all_bf16_functions()) run_and_compare(with, false, *functions);
}

const char* other_operand_added(bool conv) {
  return conv
             ? "graph @g(%x: f32[2, 64, 9, 8], %z: f32[2, 70, 9, 8]) -> (%y) {\n"
               "%w: f32[70, 64, 3, 3] = constant() {value = random(f32[70, 64, 3, 3], seed = 3, std = 0.1)}\n"
               "%y: f32[2, 70, 9, 8] = fused(%x, %w, %z) {kind = \"t\"} ((%p: f32[2, 64, 9, 8], %q: "
               "f32[70, 64, 3, 3], %r: f32[2, 70, 9, 8]) -> (%c) {\n"
               "%a: f32[2, 70, 9, 8] = conv(%p, %q) {pads = [1, 1, 1, 1]}\n"
               "%b: f32[2, 70, 9, 8] = add(%a, %r)\n%c: f32[2, 70, 9, 8] = relu(%b)\n})\n}"
             : "graph @g(%x: f32[301, 96], %z: f32[301, 80]) -> (%y) {\n"
               "%w: f32[96, 80] = constant() {value = random(f32[96, 80], seed = 3, std = 0.2)}\n"
               "%y: f32[301, 80] = fused(%x, %w, %z) {kind = \"t\"} ((%p: f32[301, 96], %q: f32[96, 80], "
               "%r: f32[301, 80]) -> (%b) {\n"
               "%a: f32[301, 80] = matmul(%p, %q)\n%b: f32[301, 80] = add(%a, %r)\n})\n}";
}

void run_in_place_and_compare(const NodeCase& c, bool conv, const BlockFunctions& functions) {
  SCOPED_TRACE(std::string(functions.name));
  std::string reason;
  const auto contraction = real_contraction_of(Group::of(*c.node), conv, reason);
  ASSERT_TRUE(contraction) << reason;
  auto tactic = contraction_tactic(*c.node, *contraction, functions, conv ? "bf16_conv" : "bf16_matmul");
  ASSERT_TRUE(tactic);
  ASSERT_EQ(tactic->in_place, 2);
  Target target;
  target.threads = 3;
  for (const auto& config : configs_of(*contraction, functions)) {
    tactic->config = config;
    ReadyTactic ready = make_ready(c, cpu_backend(), *tactic, target);
    ASSERT_EQ(ready.inputs[2].bytes(), ready.outputs[0].bytes());
    ready.outputs[0] = ready.inputs[2];
    ready.launch();
    test::expect_close(as_reals(ready.outputs[0]), c.results[0], of_bf16);
  }
}

TEST(RealContractions, may_write_a_sum_over_the_operand_that_is_added) {
  for (const bool conv : {true, false})
    for (const BlockFunctions* functions : all_bf16_functions())
      run_in_place_and_compare(make_case(other_operand_added(conv)), conv, *functions);
}

std::string own_input_added(bool conv) {
  return conv
             ? "graph @g(%x: f32[1, 32, 5, 5]) -> (%y) {\n"
               "%w: f32[32, 32, 1, 1] = constant() {value = random(f32[32, 32, 1, 1], seed = 3, std = 0.2)}\n"
               "%y: f32[1, 32, 5, 5] = fused(%x, %w) {kind = \"t\"} ((%p: f32[1, 32, 5, 5], "
               "%q: f32[32, 32, 1, 1]) -> (%b) {\n"
               "%a: f32[1, 32, 5, 5] = conv(%p, %q)\n%b: f32[1, 32, 5, 5] = add(%a, %p)\n})\n}"
             : "graph @g(%x: f32[9, 32]) -> (%y) {\n"
               "%w: f32[32, 32] = constant() {value = random(f32[32, 32], seed = 3, std = 0.2)}\n"
               "%y: f32[9, 32] = fused(%x, %w) {kind = \"t\"} ((%p: f32[9, 32], %q: f32[32, 32]) -> (%b) {\n"
               "%a: f32[9, 32] = matmul(%p, %q)\n%b: f32[9, 32] = add(%a, %p)\n})\n}";
}

/// Steps read whole values, so that an input that is x too may not be a slice of a larger one.
TEST(RealContractions, take_no_slice_that_a_step_reads_too) {
  for (const bool conv : {true, false}) {
    const NodeCase c = make_case(own_input_added(conv));
    std::string reason;
    const auto contraction = real_contraction_of(Group::of(*c.node), conv, reason);
    ASSERT_TRUE(contraction) << reason;
    const auto tactic = contraction_tactic(*c.node, *contraction, bf16_tiles_baseline(), "bf16");
    ASSERT_TRUE(tactic);
    EXPECT_TRUE(tactic->strided_inputs[0].empty());
    EXPECT_EQ(tactic->in_place, -1) << "rows are still read when others are written";
    run_and_compare(c, conv, bf16_tiles_baseline());
  }
}

/// As bounds they would lose a NaN.
TEST(RealContractions, take_numbers_of_the_run_to_be_added_but_not_as_bounds) {
  const auto taken = [](const std::string& step) {
    const NodeCase c =
        make_case("graph @g(%x: f32[3, 40], %t: f32[]) -> (%y) {\n"
                  "%w: f32[40, 5] = constant() {value = random(f32[40, 5], seed = 3, std = 0.2)}\n"
                  "%y: f32[3, 5] = fused(%x, %w, %t) {kind = \"t\"} ((%p: f32[3, 40], %q: f32[40, 5], %r: "
                  "f32[]) -> (%b) {\n"
                  "%a: f32[3, 5] = matmul(%p, %q)\n%b: f32[3, 5] = " +
                  step + "(%a, %r)\n})\n}");
    std::string reason;
    return real_contraction_of(Group::of(*c.node), false, reason).has_value();
  };
  EXPECT_TRUE(taken("add"));
  EXPECT_FALSE(taken("min"));
  EXPECT_FALSE(taken("max"));
  EXPECT_FALSE(taken("div"));
}

TEST(RealContractions, are_offered_where_the_processor_has_tiles) {
  if (!cpu_features().amx_bf16) GTEST_SKIP() << "this processor has no AMX for BF16";
  const auto ran = check_tactics(graphs[0].text, storing_bf16());
  EXPECT_TRUE(ran.contains("cpu/bf16_conv"));
  EXPECT_TRUE(check_tactics(graphs[8].text, storing_bf16()).contains("cpu/bf16_matmul"));
}

} // namespace
} // namespace lanner
