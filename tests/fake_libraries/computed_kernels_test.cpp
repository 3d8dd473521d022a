// Kernels computed by the fake GPU, against the definitions: products on matrix instructions, and kernels
// whose threads run in another order. Code that needs an order must establish it by a barrier.

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/tactic_check.h"
#include "fake_driver/fake_gpu.h"

namespace lanner::test {
namespace {

// Generated sources with matrix instructions. More of them:
// backends/cuda_matrix_sources_test.cpp.
TEST(OwnProducts, AgreeWithTheReference) {
  TacticCheck check;
  check.tolerance = 1e-4;
  check.device = gpu_device;
  check.precisions = {DType::f32, DType::f16};
  expect_offered(check_tactics("graph @g(%a: f32[70, 64], %b: f32[64, 72]) -> (%y: f32[*] as \"y\") {\n"
                               "%y: f32[*] = matmul(%a, %b)\n}",
                               check),
                 {"cuda/own_gemm"});
  expect_offered(
      check_tactics("graph @g(%x: f32[2, 16, 9, 7], %w: f32[24, 16, 3, 3]) -> (%y: f32[*] as \"y\") {\n"
                    "%y: f32[*] = conv(%x, %w, _) {pads = [1, 1, 1, 1]}\n}",
                    check),
      {"cuda/own_conv"});
}

class ReversedThreads : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override { fake_cuda_reverse_threads(true); }
  void TearDown() override { fake_cuda_reverse_threads(false); }
};

TEST_P(ReversedThreads, GiveTheSame) {
  TacticCheck check;
  check.device = gpu_device;
  check.precisions = {DType::f32, DType::f16};
  EXPECT_FALSE(check_tactics(fmt::format("graph @g{}", GetParam()), check).empty());
}

INSTANTIATE_TEST_SUITE_P(
    kernels, ReversedThreads,
    testing::Values(
        "(%x: f32[2, 70, 33, 9]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = transpose(%x) {perm = [0, 2, 3, "
        "1]}\n}",
        "(%x: f32[3, 1000]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softmax(%x)\n}",
        "(%x: f32[2, 9001]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = log_softmax(%x)\n}",
        "(%x: f32[3, 10, 4, 4]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softmax(%x) {axis = 1}\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = global_average_pool(%x)\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = i64[1](1)}\n"
        "%y: f32[*] = reduce_l2(%x, %a)\n}",
        "(%x: f32[2, 7, 48], %s: f32[48], %b: f32[48]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "layer_normalization(%x, %s, %b)\n}",
        "(%x: f32[3, 12, 9, 5], %s: f32[12], %b: f32[12]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "group_normalization(%x, %s, %b) {num_groups = 4}\n}",
        "(%x: f32[2, 16, 9, 11], %w: f32[16, 1, 3, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = conv(%x, %w) "
        "{group = 16, pads = [1, 1, 1, 1]}\n}",
        "(%a: f32[3, 33], %b: f32[33, 7]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = matmul(%a, %b)\n}"));

} // namespace
} // namespace lanner::test
