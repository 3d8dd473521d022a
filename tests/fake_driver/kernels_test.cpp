// Kernels on the fake driver, without NVRTC.

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "device/cuda/code.h"
#include "device/cuda/compare.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "graph/text/text.h"
#include "ops/table/table.h"
#include "run/lowered_text.h"
#include "tensor/float16.h"

namespace lanner::test {
namespace {

using FakeKernels = GpuKernelTest;

TEST_F(FakeKernels, UnknownNamesHaveNoKernel) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  EXPECT_NE(cuda::embedded_function(gpu, "rows", "softmax_f32"), nullptr);
  LANNER_EXPECT_ERROR(cuda::embedded_function(gpu, "rows", "softmax_f23"), ErrorCode::device,
                      "cuModuleGetFunction");
}

/// The elements `at` among `bits` differ from the expected ones, by type.
template<typename T>
cuda::DeviceDifference difference(const char* type, const std::vector<T>& got,
                                  const std::vector<float>& expected) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  const cuda::OwnedStream stream(gpu);
  Tensor a = Tensor::allocate(DType::u8, {static_cast<std::int64_t>(got.size() * sizeof(T))}),
         b = Tensor::allocate(DType::f32, {static_cast<std::int64_t>(expected.size())});
  std::memcpy(a.data(), got.data(), a.bytes());
  std::memcpy(b.data(), expected.data(), b.bytes());
  const Tensor on_gpu = a.to(gpu_device), wanted = b.to(gpu_device);
  return cuda::compare(gpu, stream,
                       {.got = on_gpu.data(),
                        .type = type,
                        .expected = static_cast<const float*>(wanted.data()),
                        .elements = got.size(),
                        .period = expected.size(),
                        .relative = 1e-2F,
                        .absolute = 1e-3F,
                        .range = 100});
}

TEST_F(FakeKernels, ComparisonCountsDifferencesAndFindsTheFirst) {
  std::vector<float> expected, got;
  for (int i = 0; i < 700; ++i) expected.push_back(static_cast<float>(i % 90));
  for (int i = 0; i < 2100; ++i) got.push_back(expected[static_cast<std::size_t>(i) % 700] * 1.001F);
  expected[5] = 1e6F; // beyond the range
  for (const std::size_t at : {701U, 1500U, 1999U}) got[at] += 3;
  got[1998] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::uint16_t> halves, brains;
  for (const float x : got) {
    halves.push_back(float_to_half(x));
    brains.push_back(float_to_bfloat16(x));
  }
  for (const cuda::DeviceDifference found :
       {difference("f32", got, expected), difference("f16", halves, expected),
        difference("bf16", brains, expected)}) {
    EXPECT_EQ(found.elements, 4U);
    EXPECT_EQ(found.first, 701U);
  }
}

TEST_F(FakeKernels, ComparisonOfWordsIsBitwise) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  const cuda::OwnedStream stream(gpu);
  Tensor a = Tensor::allocate(DType::i32, {5000});
  for (std::size_t i = 0; i < 5000; ++i) a.as<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  const Tensor first = a.to(gpu_device);
  a.as<std::int32_t>()[4321] ^= 1;
  a.as<std::int32_t>()[1234] ^= 1 << 31;
  const Tensor second = a.to(gpu_device);
  const auto found = cuda::compare_words(gpu, stream, first.data(), second.data(), 5000);
  EXPECT_EQ(found.elements, 2U);
  EXPECT_EQ(found.first, 1234U);
  EXPECT_EQ(cuda::compare_words(gpu, stream, first.data(), first.data(), 5000).elements, 0U);
}

// Kernels were chosen that could not be compiled.
TEST_F(FakeKernels, WithoutNvrtcADeterministicBuildRuns) {
  const Engine engine = engine_of("graph @main(%x: f32[2, 3]) -> (%y as \"y\") {\n"
                                  "  %a: f32[2, 3] = relu(%x)\n  %y: f32[2, 3] = mul(%a, %a)\n}",
                                  1, gpu_device, true);
  Context context = engine.create_context();
  Tensor x = Tensor::allocate(DType::f32, {2, 3});
  for (std::size_t i = 0; i < 6; ++i) x.as<float>()[i] = static_cast<float>(i) - 2;
  context.bind("x", x.to(gpu_device));
  context.run();
  const Tensor y = context.output("y").tensor.to({});
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(y.as<float>()[i], i < 2 ? 0 : (static_cast<float>(i) - 2) * (static_cast<float>(i) - 2));
}

TEST_F(FakeKernels, WithoutNvrtcNoCompiledKernelIsOffered) {
  const auto graph = parse_graph("graph @g(%x: f32[2, 3]) -> (%y: f32[2, 3] as \"y\") {\n"
                                 "  %y: f32[2, 3] = relu(%x)\n}\n",
                                 builtin_op_table());
  Target target;
  target.device = gpu_device;
  const Node& node = *graph->body().nodes().front();
  const TacticList list = cuda::backend().tactics(node, target);
  EXPECT_TRUE(list.tactics.empty());
  EXPECT_NE(list.reason.find("NVRTC is not available"), std::string::npos) << list.reason;
  EXPECT_FALSE(cuda::backend().fuses({}, node, target));
}

} // namespace
} // namespace lanner::test
