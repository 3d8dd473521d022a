// Which epilogues cuDNN and cuBLASLt fuse with a convolution or a product, as declared by their families.

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda/families.h"
#include "backends/tactic_check.h"
#include "device/cuda/gpu.h"
#include "fake_driver/fake_gpu.h"

namespace lanner::test {
namespace {

bool fuses(const KernelFamily& family, std::string_view steps, std::vector<DType> precisions,
           std::string_view anchor = "conv(%x, %w, %b) {pads = [1, 1, 1, 1]}") {
  const NodeCase c = make_case(fmt::format(
      "graph @g(%x: f32[1, 4, 5, 5], %o: f32[1, 6, 5, 5], %m: f32[5, 8]) -> (%y: f32[*] as \"y\") {{\n"
      "%w: f32[6, 4, 3, 3] = constant() {{value = random(f32[6, 4, 3, 3], seed = 5, std = 0.3)}}\n"
      "%b: f32[6] = constant() {{value = random(f32[6], seed = 6, std = 1.0)}}\n"
      "%n: f32[8, 7] = constant() {{value = random(f32[8, 7], seed = 5, std = 0.3)}}\n"
      "%c: f32[*] = {}\n{}}}",
      anchor, steps));
  std::vector<const Node*> nodes;
  for (const auto& node : c.graph->body().nodes())
    if (!node->output()->constant()) nodes.push_back(node.get());
  Target target;
  target.device = gpu_device;
  target.precision.types = {precisions.begin(), precisions.end()};
  return family.fuses(Group::of(nodes), target);
}

TEST(LibraryEpilogues, convs_take_the_epilogues_that_cudnn_fuses) {
  const cuda::Current current(cuda::Gpu::get(gpu_device));
  const std::vector<DType> exact{DType::f32}, halves{DType::f32, DType::f16};
  EXPECT_TRUE(fuses(cuda::conv_family, "%y: f32[*] = relu(%c)\n", exact));
  EXPECT_TRUE(fuses(cuda::conv_family, "%s: f32[*] = add(%c, %o)\n%y: f32[*] = relu(%s)\n", exact));
  EXPECT_FALSE(fuses(cuda::conv_family, "%y: f32[*] = sigmoid(%c)\n", exact));
  EXPECT_TRUE(fuses(cuda::conv_family, "%y: f32[*] = sigmoid(%c)\n", halves));
  EXPECT_FALSE(fuses(cuda::conv_family, "%y: f32[*] = hard_swish(%c)\n", halves));
  EXPECT_FALSE(fuses(cuda::matmul_family, "%y: f32[*] = relu(%c)\n", exact));
}

// Measured on a GPU: cuDNN's tanh is 1e-5 off, cuBLASLt's gelu 1e-6 of the largest value.
TEST(LibraryEpilogues, approximate_activations_are_fused_for_halves_only) {
  const cuda::Current current(cuda::Gpu::get(gpu_device));
  const std::vector<DType> exact{DType::f32}, halves{DType::f32, DType::f16};
  const char* const conv = "conv(%x, %w, _)";
  EXPECT_TRUE(fuses(cuda::conv_family, "%y: f32[*] = relu(%c)\n", exact, conv));
  EXPECT_FALSE(fuses(cuda::conv_family, "%y: f32[*] = tanh(%c)\n", exact, conv));
  EXPECT_TRUE(fuses(cuda::conv_family, "%y: f32[*] = tanh(%c)\n", halves, conv));
  const char *const product = "matmul(%m, %n)", *const gelu =
                                                    "%y: f32[*] = gelu(%c) {approximate = \"tanh\"}\n";
  EXPECT_TRUE(fuses(cuda::matmul_family, "%y: f32[*] = relu(%c)\n", exact, product));
  EXPECT_FALSE(fuses(cuda::matmul_family, gelu, exact, product));
  EXPECT_TRUE(fuses(cuda::matmul_family, gelu, halves, product));
}

} // namespace
} // namespace lanner::test
