// Convolutions by cuDNN and products by cuBLASLt against the reference. Skipped, with the reason, where there
// is no GPU or no such library.

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/conv_cases.h"
#include "backends/tactic_check.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/cudnn.h"

namespace lanner {
namespace {

std::string missing_gpu() {
  const cuda::DriverStatus& status = cuda::driver_status();
  return status.devices == 0 ? "no GPU: " + status.reason : "";
}

/// The libraries' kernels only.
TacticCheck on_gpu() {
  TacticCheck check;
  check.without = {"depthwise", "own_conv", "own_gemm"};
  check.tolerance = 1e-4;
  check.device = {DeviceKind::cuda, 0};
  check.precisions = {DType::f32, DType::f16, DType::bf16};
  return check;
}

class CudaConvBase {
protected:
  static std::string missing() {
    const std::string gpu = missing_gpu();
    return gpu.empty() && !cudnn::library_status().api ? "no cuDNN: " + cudnn::library_status().reason : gpu;
  }
};

class CudaProductBase {
protected:
  static std::string missing() {
    const std::string gpu = missing_gpu();
    return gpu.empty() && !cublaslt::library_status().api
               ? "no cuBLASLt: " + cublaslt::library_status().reason
               : gpu;
  }
};

using test::ConvCase;

class CudaConv : public testing::TestWithParam<ConvCase>, protected CudaConvBase {};
TEST_P(CudaConv, agrees_with_the_reference) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  const ConvCase& c = GetParam();
  const auto ran = check_tactics(fmt::format("graph @g(%x: {0}{1}, %w: {0}{2}) -> (%y: {0}[*] as \"y\") {{\n"
                                             "%y: {0}[*] = conv(%x, %w, _) {{{3}}}\n}}",
                                             c.type, c.input, c.weights, c.attributes),
                                 on_gpu());
  EXPECT_TRUE(ran.contains("cuda/conv"));
}

INSTANTIATE_TEST_SUITE_P(shapes, CudaConv, testing::ValuesIn(test::conv_cases));
const ConvCase more_conv_cases[] = {
    {"[1, 16, 9, 9]", "[16, 16, 5, 1]", "auto_pad = \"SAME_UPPER\""},
    {"[2, 1, 7, 7]", "[1, 1, 7, 7]", ""},
    {"[1, 16, 8, 8]", "[24, 16, 3, 3]", "pads = [1, 1, 1, 1]", "f16"},
    {"[1, 32, 8, 8]", "[32, 1, 3, 3]", "group = 32, pads = [1, 1, 1, 1]", "f16"},
    {"[1, 16, 8, 8]", "[24, 16, 3, 3]", "pads = [1, 1, 1, 1]", "bf16"},
};
INSTANTIATE_TEST_SUITE_P(more_shapes, CudaConv, testing::ValuesIn(more_conv_cases));

/// A body that computes %r from the convolution's result %c and may read %o, of type `other`.
struct EpilogueCase {
  std::string body, other = "[2, 24, 6, 6]";
};
void PrintTo(const EpilogueCase& c, std::ostream* out) {
  *out << c.body << " with " << c.other;
}

class CudaConvEpilogue : public testing::TestWithParam<EpilogueCase>, protected CudaConvBase {};
TEST_P(CudaConvEpilogue, agrees_with_the_reference) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  const EpilogueCase& c = GetParam();
  const auto ran = check_tactics(
      fmt::format(
          "graph @g(%x: f32[2, 16, 6, 6], %o: f32{0}) -> (%y: f32[*] as \"y\") {{\n"
          "%w: f32[24, 16, 3, 3] = constant() {{value = random(f32[24, 16, 3, 3], seed = 5, std = 0.1)}}\n"
          "%b: f32[24] = constant() {{value = random(f32[24], seed = 6, std = 1.0)}}\n"
          "%y: f32[*] = fused(%x, %w, %b, %o) {{kind = \"t\"}} "
          "((%xi: f32[2, 16, 6, 6], %wi: f32[24, 16, 3, 3], %bi: f32[24], %oi: f32{0}) -> (%r) {{\n"
          "%c: f32[*] = conv(%xi, %wi, %bi) {{pads = [1, 1, 1, 1]}}\n{1}}})\n}}",
          c.other, c.body),
      on_gpu());
  EXPECT_TRUE(ran.contains("cuda/conv"));
  EXPECT_TRUE(ran.contains("cuda/conv strided"));
}

const EpilogueCase conv_epilogues[] = {
    {"%r: f32[*] = relu(%c)\n"},
    {"%r: f32[*] = add(%c, %oi)\n"},
    {"%s: f32[*] = add(%c, %oi)\n%r: f32[*] = relu(%s)\n"},
    {"%s: f32[*] = add(%oi, %c)\n%r: f32[*] = relu(%s)\n"},
    {"%r: f32[*] = leaky_relu(%c) {alpha = 0.2}\n"},
    {"%r: f32[*] = sigmoid(%c)\n"},
    {"%r: f32[*] = tanh(%c)\n"},
    {"%r: f32[*] = elu(%c) {alpha = 0.7}\n"},
    {"%r: f32[*] = gelu(%c)\n"},
    {"%r: f32[*] = gelu(%c) {approximate = \"tanh\"}\n"},
    {"%r: f32[*] = softplus(%c)\n"},
    {"%s: f32[*] = sigmoid(%c)\n%r: f32[*] = mul(%c, %s)\n"},
    {"%z: f32[] = constant() {value = f32[](0.0)}\n%m: f32[] = constant() {value = f32[](6.0)}\n"
     "%r: f32[*] = clip(%c, %z, %m)\n"},
    {"%s: f32[*] = relu(%c)\n%r: f32[*] = add(%s, %oi)\n"},
    {"%r: f32[*] = mul(%c, %oi)\n", "[24, 1, 1]"},
    {"%r: f32[*] = sub(%c, %oi)\n", "[1, 24, 1, 1]"},
};
INSTANTIATE_TEST_SUITE_P(epilogues, CudaConvEpilogue, testing::ValuesIn(conv_epilogues));

struct ProductCase {
  std::string a, b, op = "matmul", attributes = "", type = "f32";
};
void PrintTo(const ProductCase& c, std::ostream* out) {
  *out << c.op << " " << c.type << " " << c.a << " x " << c.b << " {" << c.attributes << "}";
}

class CudaProduct : public testing::TestWithParam<ProductCase>, protected CudaProductBase {};
TEST_P(CudaProduct, agrees_with_the_reference) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  const ProductCase& c = GetParam();
  const auto ran = check_tactics(fmt::format("graph @g(%a: {0}{1}, %b: {0}{2}) -> (%y: {0}[*] as \"y\") {{\n"
                                             "%y: {0}[*] = {3}(%a, %b) {{{4}}}\n}}",
                                             c.type, c.a, c.b, c.op, c.attributes),
                                 on_gpu());
  EXPECT_TRUE(ran.contains("cuda/matmul"));
}

const ProductCase product_cases[] = {
    {"[1, 256]", "[256, 256]"},
    {"[8, 256]", "[256, 16]"},
    {"[3, 33]", "[33, 7]"},
    {"[2, 5, 32]", "[32, 24]"},
    {"[1, 2048]", "[1000, 2048]", "gemm", "transB = 1"},
    {"[37, 5]", "[37, 19]", "gemm", "transA = 1"},
    {"[37, 5]", "[19, 37]", "gemm", "transA = 1, transB = 1"},
    {"[2, 4, 9, 8]", "[2, 4, 8, 11]"},
    {"[4, 9, 8]", "[1, 8, 11]"},
    {"[1, 9, 8]", "[3, 8, 11]"},
    {"[9, 8]", "[3, 8, 11]"},
    {"[64, 100]", "[100, 72]"},
    {"[64, 100]", "[100, 1]"},
    {"[64, 96]", "[96, 72]", "matmul", "", "f16"},
    {"[4, 9, 8]", "[4, 8, 16]", "matmul", "", "bf16"},
};
INSTANTIATE_TEST_SUITE_P(shapes, CudaProduct, testing::ValuesIn(product_cases));

class CudaProductEpilogue : public testing::TestWithParam<EpilogueCase>, protected CudaProductBase {};
TEST_P(CudaProductEpilogue, agrees_with_the_reference) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  const EpilogueCase& c = GetParam();
  const auto ran = check_tactics(
      fmt::format("graph @g(%a: f32[10, 32], %o: f32{0}) -> (%y: f32[*] as \"y\") {{\n"
                  "%b: f32[32, 24] = constant() {{value = random(f32[32, 24], seed = 5, std = 0.3)}}\n"
                  "%bias: f32[24] = constant() {{value = random(f32[24], seed = 6, std = 1.0)}}\n"
                  "%y: f32[*] = fused(%a, %b, %bias, %o) {{kind = \"t\"}} "
                  "((%ai: f32[10, 32], %bi: f32[32, 24], %ci: f32[24], %oi: f32{0}) -> (%r) {{\n{1}}})\n}}",
                  c.other, c.body),
      on_gpu());
  EXPECT_TRUE(ran.contains("cuda/matmul"));
}

const EpilogueCase product_epilogues[] = {
    {"%r: f32[*] = gemm(%ai, %bi, %ci)\n", "[10, 24]"},
    {"%p: f32[*] = gemm(%ai, %bi, %ci)\n%r: f32[*] = relu(%p)\n", "[10, 24]"},
    {"%p: f32[*] = gemm(%ai, %bi, %ci)\n%r: f32[*] = gelu(%p) {approximate = \"tanh\"}\n", "[10, 24]"},
    {"%p: f32[*] = matmul(%ai, %bi)\n%r: f32[*] = add(%p, %ci)\n", "[10, 24]"},
    {"%p: f32[*] = matmul(%ai, %bi)\n%r: f32[*] = add(%p, %oi)\n", "[10, 24]"},
    {"%p: f32[*] = matmul(%ai, %bi)\n%r: f32[*] = relu(%p)\n", "[10, 24]"},
    {"%p: f32[*] = matmul(%ai, %bi)\n%q: f32[*] = add(%p, %ci)\n%s: f32[*] = add(%oi, %q)\n"
     "%r: f32[*] = relu(%s)\n",
     "[10, 24]"},
};
INSTANTIATE_TEST_SUITE_P(epilogues, CudaProductEpilogue, testing::ValuesIn(product_epilogues));

} // namespace
} // namespace lanner
