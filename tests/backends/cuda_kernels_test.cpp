// GPU kernels against the reference. Skipped, with the reason, where there is no GPU. The fake driver's tests
// run them too: with the fake NVRTC, and without it, where only kernels of .cu files are available.

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "backends/index_texts.h"
#include "backends/tactic_check.h"
#include "device/cuda/driver.h"
#include "device/cuda/gpu.h"
#include "device/cuda/nvrtc.h"
#include "graph/parsed.h"

namespace lanner {
namespace {

class CudaKernels : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    const cuda::DriverStatus& status = cuda::driver_status();
    if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
  }
  /// The fake GPU compiles each of a thousand sources by the host's compiler: of f16 and bf16 every case uses
  /// one there, alternating, and large cases neither, unless LANNER_EMULATE_ALL is set.
  static TacticCheck on_gpu() {
    TacticCheck check;
    check.device = {DeviceKind::cuda, 0};
    check.precisions = {DType::f32, DType::f16, DType::bf16};
    if (cuda::Gpu::get(check.device).name() != "Fake GPU" || std::getenv("LANNER_EMULATE_ALL")) return check;
    static int number = 0;
    const std::string_view suite = testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
    if (suite.starts_with("large_elementwise"))
      check.precisions = {DType::f32};
    else
      check.precisions.erase(check.precisions.begin() + 1 + number++ % 2);
    return check;
  }
};

TEST_P(CudaKernels, agree_with_the_reference) {
  const auto ran = check_tactics(fmt::format("graph @g{}", GetParam()), on_gpu());
  if (ran.empty() && !cuda::nvrtc_status().found) GTEST_SKIP() << "no NVRTC: " << cuda::nvrtc_status().reason;
  EXPECT_FALSE(ran.empty());
}

INSTANTIATE_TEST_SUITE_P(
    movement, CudaKernels,
    testing::Values("(%x: f32[2, 5, 7, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = transpose(%x) {perm = "
                    "[0, 2, 3, 1]}\n}",
                    "(%x: f32[2, 5, 7, 3], %z: f32[2, 9, 7, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
                    "concat(%x, %z) {axis = 1}\n}",
                    "(%x: i64[3, 4]) -> (%y: i64[*] as \"y\") {\n%y: i64[*] = transpose(%x)\n}",
                    "(%x: u8[3, 4]) -> (%y: u8[*] as \"y\") {\n%y: u8[*] = transpose(%x)\n}",
                    "(%x: f32[2, 3, 5, 5]) -> (%y: f32[*] as \"y\") {\n%p: i64[8] = constant() {value = "
                    "i64[8](0, 0, 1, 2, 0, 0, 2, "
                    "1)}\n%y: f32[*] = pad(%x, %p)\n}",
                    "(%x: f16[2, 5, 7, 3]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = transpose(%x) {perm = "
                    "[0, 2, 3, 1]}\n}"));

// Long axes are copied in tiles, dense ones in packs.
INSTANTIATE_TEST_SUITE_P(
    large_movement, CudaKernels,
    testing::Values(
        "(%x: f32[2, 70, 33, 9]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = transpose(%x) {perm = "
        "[0, 2, 3, 1]}\n}",
        "(%x: f32[3, 130, 8]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = transpose(%x) {perm = "
        "[0, 2, 1]}\n}",
        "(%x: i64[65, 129]) -> (%y: i64[*] as \"y\") {\n%y: i64[*] = transpose(%x)\n}",
        "(%x: f32[2, 72, 100]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = transpose(%x) {perm = "
        "[0, 2, 1]}\n}",
        "(%x: f16[2, 136, 72]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = transpose(%x) {perm = "
        "[0, 2, 1]}\n}",
        "(%x: f16[3, 68, 44]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = transpose(%x) {perm = "
        "[0, 2, 1]}\n}",
        "(%x: u8[3, 200, 100]) -> (%y: u8[*] as \"y\") {\n%y: u8[*] = transpose(%x) {perm = "
        "[2, 0, 1]}\n}",
        "(%x: f32[2, 19, 4, 32]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = transpose(%x) {perm = "
        "[0, 2, 1, 3]}\n}",
        "(%x: f32[2, 14, 21, 5, 4]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = transpose(%x) {perm "
        "= [4, 2, 0, 3, 1]}\n}",
        "(%x: f32[2, 16, 6, 8], %z: f32[2, 3, 6, 8]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "concat(%x, %z) {axis = 1}\n}",
        "(%x: f32[6, 64]) -> (%y: f32[*] as \"y\") {\n%s: i64[2] = constant() {value = i64[2](1, "
        "3)}\n%e: i64[2] = constant() {value = i64[2](6, 63)}\n%y: f32[*] = slice(%x, %s, %e)\n}"));

// Large enough for several elements per thread.
INSTANTIATE_TEST_SUITE_P(
    large_elementwise, CudaKernels,
    testing::Values("(%x: f32[8, 64, 32, 32], %b: f32[64, 1, 1]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
                    "add(%x, %b)\n}",
                    "(%x: f32[8, 64, 32, 32], %b: f32[1, 32]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
                    "mul(%x, %b)\n}",
                    "(%x: f32[8, 64, 32, 32], %b: f32[8, 1, 32, 1]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
                    "mul(%x, %b)\n}",
                    "(%x: f32[16, 512, 7, 7], %b: f32[512, 1, 1]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
                    "sub(%x, %b)\n}",
                    "(%x: f32[16, 512, 7, 7], %b: f32[1]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
                    "div(%x, %b)\n}",
                    "(%x: f32[1031, 263]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = sigmoid(%x)\n}",
                    "(%x: f16[64, 197, 64], %z: f16[64, 197, 64]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = "
                    "add(%x, %z)\n}",
                    "(%x: f16[64, 1, 128], %z: f16[1, 64, 128]) -> (%y: bool[*] as \"y\") {\n%y: bool[*] = "
                    "greater(%x, %z)\n}"));

INSTANTIATE_TEST_SUITE_P(
    pools, CudaKernels,
    testing::Values(
        "(%x: f32[2, 5, 11, 9]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = max_pool(%x) {kernel_shape = [3, "
        "3], strides = "
        "[2, 2], pads = [1, 1, 1, 1]}\n}",
        "(%x: f32[2, 5, 11, 9]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = average_pool(%x) {kernel_shape = "
        "[3, 2], strides "
        "= [2, 1], pads = [1, 0, 1, 1]}\n}",
        "(%x: f32[2, 5, 11, 9]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = average_pool(%x) {kernel_shape = "
        "[3, 3], strides "
        "= [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1, ceil_mode = 1}\n}",
        "(%x: f32[1, 3, 13]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = max_pool(%x) {kernel_shape = [3]}\n}",
        "(%x: f32[1, 3, 4, 5, 6]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = max_pool(%x) {kernel_shape = [2, "
        "3, 2]}\n}",
        "(%x: f16[2, 5, 11, 9]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = max_pool(%x) {kernel_shape = [3, "
        "3]}\n}",
        "(%x: f32[2, 64, 15, 13]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = max_pool(%x) {kernel_shape = [3, "
        "3], strides = [2, 2], pads = [1, 1, 1, 1]}\n}",
        "(%x: f16[3, 24, 30, 9]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = average_pool(%x) {kernel_shape = "
        "[7, 3], strides = [2, 1], dilations = [1, 2], pads = [3, 1, 2, 2], count_include_pad = 1}\n}",
        "(%x: f32[2, 12, 20, 40]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = max_pool(%x) {kernel_shape = [13, "
        "21], pads = [6, 10, 6, 10]}\n}",
        "(%x: f16[2, 16, 4, 5, 6]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = max_pool(%x) {kernel_shape = [2, "
        "3, 2]}\n}"));

INSTANTIATE_TEST_SUITE_P(
    rows, CudaKernels,
    testing::Values(
        "(%x: f32[3, 1000]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softmax(%x)\n}",
        "(%x: f32[2, 3, 9, 197]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softmax(%x)\n}",
        "(%x: f32[5, 3000]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softmax(%x)\n}",
        "(%x: f32[2, 40001]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = log_softmax(%x)\n}",
        "(%x: f16[7, 11, 64]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = softmax(%x)\n}",
        "(%x: f32[3, 10, 4, 4]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softmax(%x) {axis = 1}\n}",
        "(%x: f32[3, 10, 4]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = log_softmax(%x) {axis = 1}\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = global_average_pool(%x)\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = global_max_pool(%x)\n}",
        "(%x: f32[3, 96, 112, 112]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = global_average_pool(%x)\n}",
        "(%x: f32[2, 13, 61, 47]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = global_max_pool(%x)\n}",
        "(%x: f16[2, 144, 56, 56]) -> (%y: f16[*] as \"y\") {\n%a: i64[2] = constant() {value = i64[2](2, "
        "3)}\n%y: f16[*] = reduce_l2(%x, %a)\n}",
        "(%x: f16[64, 3, 49, 49]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = softmax(%x)\n}",
        "(%x: f16[2, 12, 197, 197]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = softmax(%x)\n}",
        "(%x: f32[2, 3136, 96], %s: f32[96], %b: f32[96]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "layer_normalization(%x, %s, %b)\n}",
        "(%x: f32[7, 3072], %s: f32[3072]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "rms_normalization(%x, %s)\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = i64[2](2, "
        "3)}\n%y: f32[*] = "
        "reduce_mean(%x, %a) {keepdims = 0}\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = i64[2](1, "
        "-1)}\n%y: f32[*] = "
        "reduce_max(%x, %a)\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = i64[1](1)}\n"
        "%y: f32[*] = reduce_l2(%x, %a)\n}",
        "(%x: f16[2, 24, 100]) -> (%y: f16[*] as \"y\") {\n%a: i64[1] = constant() {value = i64[1](-1)}\n"
        "%y: f16[*] = reduce_l2(%x, %a)\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = i64[2](0, "
        "2)}\n%y: f32[*] = reduce_l1(%x, %a)\n}",
        "(%x: f32[2, 24, 7, 7]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = i64[1](3)}\n"
        "%y: f32[*] = reduce_sum_square(%x, %a)\n}",
        "(%x: f32[2, 7, 48], %s: f32[48], %b: f32[48]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "layer_normalization(%x, %s, %b)\n}",
        "(%x: f32[2, 197, 768], %s: f32[768], %b: f32[768]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "layer_normalization(%x, %s, %b)\n}",
        "(%x: f32[9, 4104], %s: f32[4104]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "rms_normalization(%x, %s)\n}",
        "(%x: f16[2, 3, 7, 5], %s: f16[7, 5]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = "
        "layer_normalization(%x, %s) {axis = -2}\n}",
        "(%x: f32[2, 7, 1000], %s: f32[1000]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "rms_normalization(%x, %s)\n}",
        "(%x: f32[3, 6, 9, 5], %s: f32[6], %b: f32[6]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "instance_normalization(%x, %s, %b)\n}",
        "(%x: f32[1, 32, 64, 65], %s: f32[32], %b: f32[32]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "instance_normalization(%x, %s, %b)\n}",
        "(%x: f32[3, 12, 9, 5], %s: f32[12], %b: f32[12]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "group_normalization(%x, %s, %b) {num_groups = 4}\n}",
        "(%x: f32[2, 8, 3, 4, 5], %s: f32[8], %b: f32[8]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "group_normalization(%x, %s, %b) {num_groups = 1}\n}",
        "(%x: f32[5, 7, 48], %r: f32[5, 7, 48], %s: f32[48], %b: f32[48]) -> (%y, %z) {\n%y: f32[5, 7, 48], "
        "%z: f32[5, 7, 48] = fused(%x, %r, %s, %b) {kind = \"add+norm\"} ((%p: f32[5, 7, 48], %q: f32[5, 7, "
        "48], %v: f32[48], %c: f32[48]) -> (%n, %t) {\n%t: f32[5, 7, 48] = add(%p, %q)\n%n: f32[5, 7, 48] = "
        "layer_normalization(%t, %v, %c)\n})\n}",
        "(%x: f16[5, 7, 48], %r: f16[5, 7, 48], %s: f16[48]) -> (%y) {\n%y: f16[5, 7, 48] = "
        "fused(%x, %r, %s) {kind = \"add+norm\"} ((%p: f16[5, 7, 48], %q: f16[5, 7, 48], %v: f16[48]) -> "
        "(%n) "
        "{\n%t: f16[5, 7, 48] = add(%p, %q)\n%n: f16[5, 7, 48] = rms_normalization(%t, %v)\n})\n}"));

// Rows that are dense, interleaved, and with other strides.
INSTANTIATE_TEST_SUITE_P(
    reductions, CudaKernels,
    testing::Values("(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](-1)}\n%y: f32[*] = reduce_sum(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](1)}\n%y: f32[*] = reduce_sum(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](0, 2)}\n%y: f32[*] = reduce_sum(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](1, 3)}\n%y: f32[*] = reduce_sum(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](-1)}\n%y: f32[*] = reduce_min(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](1)}\n%y: f32[*] = reduce_min(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](0, 2)}\n%y: f32[*] = reduce_min(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](1, 3)}\n%y: f32[*] = reduce_min(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](-1)}\n%y: f32[*] = reduce_max(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](1)}\n%y: f32[*] = reduce_max(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](0, 2)}\n%y: f32[*] = reduce_max(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](1, 3)}\n%y: f32[*] = reduce_max(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](-1)}\n%y: f32[*] = reduce_mean(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](1)}\n%y: f32[*] = reduce_mean(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](0, 2)}\n%y: f32[*] = reduce_mean(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](1, 3)}\n%y: f32[*] = reduce_mean(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](-1)}\n%y: f32[*] = reduce_l1(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](1)}\n%y: f32[*] = reduce_l1(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](0, 2)}\n%y: f32[*] = reduce_l1(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](1, 3)}\n%y: f32[*] = reduce_l1(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](-1)}\n%y: f32[*] = reduce_l2(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](1)}\n%y: f32[*] = reduce_l2(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](0, 2)}\n%y: f32[*] = reduce_l2(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](1, 3)}\n%y: f32[*] = reduce_l2(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](-1)}\n%y: f32[*] = reduce_sum_square(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[1] = constant() {value = "
                    "i64[1](1)}\n%y: f32[*] = reduce_sum_square(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](0, 2)}\n%y: f32[*] = reduce_sum_square(%x, %a)\n}",
                    "(%x: f32[3, 5, 7, 33]) -> (%y: f32[*] as \"y\") {\n%a: i64[2] = constant() {value = "
                    "i64[2](1, 3)}\n%y: f32[*] = reduce_sum_square(%x, %a)\n}"));

// Rows too long for a block's registers.
INSTANTIATE_TEST_SUITE_P(
    long_rows, CudaKernels,
    testing::Values(
        "(%x: f32[2, 9001]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softmax(%x)\n}",
        "(%x: f32[2, 9001]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = log_softmax(%x)\n}",
        "(%x: f32[3, 700]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = log_softmax(%x)\n}",
        "(%x: f32[2, 20000], %s: f32[20000], %b: f32[20000]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "layer_normalization(%x, %s, %b)\n}",
        "(%x: f32[2, 3, 4, 4000], %s: f32[3], %b: f32[3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = "
        "instance_normalization(%x, %s, %b)\n}"));

/// Stored values are compared: inputs are rounded to halves, whatever type they are written in.
class CudaReorders : public CudaKernels {};
TEST_P(CudaReorders, keep_the_elements) {
  TacticCheck check = on_gpu();
  check.tolerance = 5e-3;
  EXPECT_TRUE(check_tactics(fmt::format("graph @g{}", GetParam()), check).contains("cuda/movement"));
}

INSTANTIATE_TEST_SUITE_P(
    storages, CudaReorders,
    testing::Values("(%x: f32[2, 40, 7, 64] @ row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: f32[2, "
                    "40, 7, 64] @ acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ f32 row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ f16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ f16 row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ f32 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ bf16 row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ f16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ f16 row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ bf16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ f32 row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ bf16 acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ bf16 acdb cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ f32 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ f16 acdb cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ bf16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ bf16 row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ f16 acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ f16 row cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ f32 acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[2, 40, 7, 64] @ f32 acdb cuda:0) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n%y: "
                    "f32[2, 40, 7, 64] @ f16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, 5, "
                    "7, 9] @ acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ f32 row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ f16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ f16 row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ f32 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ bf16 row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ f16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ f16 row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ bf16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ f32 row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ bf16 acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ bf16 acdb cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: "
                    "f32[3, 5, 7, 9] @ f32 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ f16 acdb cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ bf16 row cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ bf16 row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ f16 acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ f16 row cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ f32 acdb cuda:0 = reorder(%x)\n}",
                    "(%x: f32[3, 5, 7, 9] @ f32 acdb cuda:0) -> (%y: f32[3, 5, 7, 9] as \"y\") {\n%y: f32[3, "
                    "5, 7, 9] @ f16 row cuda:0 = reorder(%x)\n}"));

INSTANTIATE_TEST_SUITE_P(
    depthwise, CudaKernels,
    testing::Values(
        "(%x: f32[2, 16, 9, 11], %w: f32[16, 1, 3, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = conv(%x, %w) "
        "{group = 16, pads = [1, 1, 1, 1]}\n}",
        "(%x: f32[2, 24, 14, 14], %w: f32[24, 1, 7, 7], %b: f32[24]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] "
        "= conv(%x, %w, %b) {group = 24, pads = [3, 3, 3, 3]}\n}",
        "(%x: f32[1, 6, 13, 10], %w: f32[6, 1, 5, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = conv(%x, %w) "
        "{group = 6, pads = [2, 0, 1, 2], strides = [2, 1]}\n}",
        "(%x: f32[3, 7, 12, 12], %w: f32[7, 1, 3, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = conv(%x, %w) "
        "{group = 7, pads = [2, 2, 2, 2], dilations = [2, 2], strides = [2, 2]}\n}",
        "(%x: f32[1, 40, 3, 2], %w: f32[40, 1, 2, 2]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = conv(%x, %w) "
        "{group = 40}\n}",
        "(%x: f32[2, 16, 9, 11], %w: f32[16, 1, 3, 3], %r: f32[2, 16, 9, 11], %s: f32[16, 1, 1]) -> (%y) "
        "{\n%y: "
        "f32[2, 16, 9, 11] = fused(%x, %w, %r, %s) {kind = \"conv+mul+relu+add\"} ((%a: f32[2, 16, 9, 11], "
        "%b: "
        "f32[16, 1, 3, 3], %c: f32[2, 16, 9, 11], %d: f32[16, 1, 1]) -> (%o) {\n%k: f32[2, 16, 9, 11] = "
        "conv(%a, "
        "%b) {group = 16, pads = [1, 1, 1, 1]}\n%l: f32[2, 16, 9, 11] = mul(%k, %d)\n%m: f32[2, 16, 9, 11] = "
        "relu(%l)\n%o: f32[2, 16, 9, 11] = add(%m, %c)\n})\n}"));

INSTANTIATE_TEST_SUITE_P(
    taps, CudaKernels,
    testing::Values(
        "(%x: f32[2, 5, 7, 9]) -> (%y: f32[*] as \"y\") {\n%s: i64[4] = constant() {value = i64[4](2, 5, 15, "
        "4)}\n%y: f32[*] = resize(%x, _, _, %s) {mode = \"linear\"}\n}",
        "(%x: f32[2, 5, 7, 9]) -> (%y: f32[*] as \"y\") {\n%s: f32[4] = constant() {value = f32[4](1.0, 1.0, "
        "2.0, 2.0)}\n%y: f32[*] = resize(%x, _, %s) {mode = \"nearest\", coordinate_transformation_mode = "
        "\"asymmetric\", nearest_mode = \"floor\"}\n}",
        "(%x: f32[2, 5, 7, 9]) -> (%y: f32[*] as \"y\") {\n%s: i64[4] = constant() {value = i64[4](2, 5, 15, "
        "4)}\n%y: f32[*] = resize(%x, _, _, %s) {mode = \"cubic\", coordinate_transformation_mode = "
        "\"align_corners\"}\n}",
        "(%x: f32[1, 3, 40, 31]) -> (%y: f32[*] as \"y\") {\n%s: i64[4] = constant() {value = i64[4](1, 3, "
        "11, 13)}\n%y: f32[*] = resize(%x, _, _, %s) {mode = \"linear\", antialias = 1}\n}",
        "(%x: f32[1, 3, 6, 7, 5]) -> (%y: f32[*] as \"y\") {\n%s: i64[5] = constant() {value = i64[5](1, 3, "
        "9, 5, 8)}\n%y: f32[*] = resize(%x, _, _, %s) {mode = \"linear\"}\n}",
        "(%x: f16[2, 5, 7, 9]) -> (%y: f16[*] as \"y\") {\n%s: i64[4] = constant() {value = i64[4](2, 5, 14, "
        "18)}\n%y: f16[*] = resize(%x, _, _, %s) {mode = \"linear\"}\n}",
        "(%x: f32[2, 3, 7, 9]) -> (%y: f32[*] as \"y\") {\n%s: i64[8] = constant() {value = i64[8](0, 0, 3, "
        "2, 0, 0, 1, 4)}\n%y: f32[*] = pad(%x, %s) {mode = \"reflect\"}\n}",
        "(%x: f32[2, 3, 7, 9]) -> (%y: f32[*] as \"y\") {\n%s: i64[8] = constant() {value = i64[8](0, 0, 3, "
        "2, 0, 0, 1, -4)}\n%y: f32[*] = pad(%x, %s) {mode = \"edge\"}\n}",
        "(%x: f32[2, 3, 7]) -> (%y: f32[*] as \"y\") {\n%s: i64[6] = constant() {value = i64[6](1, 0, 3, 0, "
        "2, 9)}\n%y: f32[*] = pad(%x, %s) {mode = \"wrap\"}\n}"));

INSTANTIATE_TEST_SUITE_P(indices, CudaKernels, testing::ValuesIn(test::index_texts));

/// Left to the definitions, which report them: kernels would read or write outside of the data.
class CudaIndexRefusals : public CudaKernels {};
TEST_P(CudaIndexRefusals, name_the_shapes) {
  const auto graph = test::parsed(fmt::format("graph @g{}", GetParam()));
  Target target;
  target.device = {DeviceKind::cuda, 0};
  const TacticList list = cuda::backend().tactics(*graph->body().nodes().back(), target);
  EXPECT_TRUE(list.tactics.empty());
  EXPECT_NE(list.reason.find("the indices exceed the data, or the updates differ in shape"),
            std::string::npos)
      << list.reason;
}

INSTANTIATE_TEST_SUITE_P(indices, CudaIndexRefusals, testing::ValuesIn(test::refused_index_texts));

INSTANTIATE_TEST_SUITE_P(regions, CudaKernels, testing::ValuesIn(test::region_texts));

INSTANTIATE_TEST_SUITE_P(
    elementwise, CudaKernels,
    testing::Values(
        "(%x: f32[2, 5, 7, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = relu(%x)\n}",
        "(%x: f32[2, 5, 7, 3]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = mul(%x, %x)\n}",
        "(%x: f32[24, 24]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = matmul(%x, %x)\n}",
        "(%x: f32[2, 5, 7, 3], %z: f32[5, 1, 1]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = mul(%x, %z)\n}",
        "(%x: f32[2, 5, 7, 3], %z: f32[2, 1, 7, 1]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = add(%x, %z)\n}",
        "(%x: f32[4, 6]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = cast(%x) {to = f16}\n}",
        "(%x: f16[4, 6], %z: f16[4, 6]) -> (%y: f16[*] as \"y\") {\n%y: f16[*] = add(%x, %z)\n}",
        "(%x: f32[4, 6], %z: f32[4, 6]) -> (%y: bool[*] as \"y\") {\n%y: bool[*] = less(%x, %z)\n}",
        "(%x: f32[64]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = gelu(%x)\n}",
        "(%x: f32[64]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = hard_swish(%x)\n}",
        "(%x: f32[64]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = softplus(%x)\n}",
        "(%x: f32[64]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = erf(%x)\n}",
        "(%a: f32[2, 9, 8], %b: f32[9, 1]) -> (%y: f32[*] as \"y\") {\n%y: f32[*] = fused(%a, %b) {kind = "
        "\"t\"} ((%ai: "
        "f32[2, 9, 8], %bi: f32[9, 1]) -> (%r) {\n%m: f32[*] = sub(%ai, %bi)\n%s: f32[*] = sigmoid(%m)\n%r: "
        "f32[*] = "
        "mul(%s, %ai)\n})\n}"));

} // namespace
} // namespace lanner
