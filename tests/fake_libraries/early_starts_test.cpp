// Which kernels of a recorded graph may start before earlier work has ended: Note [Early starts] in
// device/cuda/order.h.

#include <string>

#include <gtest/gtest.h>

#include <lanner/error.h>

#include "backends/cuda/source_text.h"
#include "device/cuda/code.h"
#include "device/cuda/order.h"
#include "fake_driver/fake_gpu.h"

namespace lanner::test {
namespace {

std::string kernel_source(const char* first_statement) {
  return fmt::format("{}extern \"C\" __global__ void increase(float* p) {{\n  {}\n  p[0] += 1;\n}}\n",
                     cuda::prelude(), first_statement);
}

class EarlyStarts : public GpuTest {};

TEST_F(EarlyStarts, only_own_kernels_behind_kernels_start_early) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  const cuda::OwnedStream stream(gpu);
  const cuda::StreamOrder order(gpu);
  const cuda::FunctionHandle own =
      cuda::compiled_function(gpu, kernel_source("wait_for_earlier();"), "increase");
  EXPECT_TRUE(cuda::starts_early(own));
  const Tensor value = Tensor::allocate(DType::f32, {1}).to(gpu_device);
  const auto memory = reinterpret_cast<cuda::DevicePointer>(value.data());
  ASSERT_TRUE(cuda::GraphExec::keeps_order());
  const auto graph = cuda::GraphExec::capture(gpu, stream, [&](cuda::StreamHandle handle) {
    const Stream queue{handle};
    cuda::launch(own, {}, queue, value.data());
    cuda::launch(own, {}, queue, value.data());
    cuda::check(cuda::driver().set_bytes(memory, 0, sizeof(float), handle), "cuMemsetD8Async");
    cuda::launch(own, {}, queue, value.data());
    order.queue(handle); // A kernel that does not wait.
    cuda::launch(own, {}, queue, value.data());
  });
  EXPECT_STREQ(fake_cuda_edges(), "increase>-\n->increase\nincrease>order_stream\n"
                                  "increase>>increase\norder_stream>>increase\n");
}

TEST_F(EarlyStarts, a_source_with_a_kernel_that_does_not_wait_is_refused) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  try {
    static_cast<void>(cuda::compiled_function(gpu, kernel_source(""), "increase"));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_NE(std::string(error.what()).find("wait_for_earlier"), std::string::npos) << error.what();
  }
}

} // namespace
} // namespace lanner::test
