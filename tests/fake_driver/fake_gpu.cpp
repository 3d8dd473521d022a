#include "fake_driver/fake_gpu.h"

#include <cstdint>

#include "device/cuda/fatbin.h"

namespace lanner::test {

void GpuTest::TearDown() {
  fake_cuda_fail(0, 0);
  fake_cuda_defer(0);
  fake_cuda_ignore_waits(false);
  fake_cuda_kernel_seconds(0);
  fake_cuda_limit(SIZE_MAX);
}

void GpuKernelTest::SetUp() {
  if (cuda::embedded_fatbins().empty()) GTEST_SKIP() << "built without nvcc or without .cu files";
}

bool fails(std::size_t number, int status, const std::function<void()>& work,
           void (*fail)(std::size_t number, int status)) {
  bool failed = false;
  fail(number, status);
  try {
    work();
  } catch (const Error& error) {
    failed = true;
    EXPECT_EQ(error.code(), status == out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device)
        << error.message();
  }
  fail(0, 0);
  return failed;
}

void expect_to_go_on(const RunsToFail& runs) {
  const std::size_t objects = fake_cuda_objects(), memory = fake_cuda_memory();
  for (int before = 0; before < 3; ++before)
    for (std::size_t number = 1;; ++number) {
      Context context = runs.create();
      for (int run = 0; run < before; ++run) EXPECT_TRUE(runs.right(context));
      if (runs.prepare) runs.prepare(context, number);
      const bool failed = fails(number, launch_failed, [&] { context.run(); });
      for (int run = 0; failed && run < 3; ++run) EXPECT_TRUE(runs.right(context)) << number;
      fake_cuda_defer(0);
      if (!failed) break;
      ASSERT_LT(number, 300u);
    }
  EXPECT_EQ(fake_cuda_objects(), objects);
  EXPECT_EQ(fake_cuda_memory(), memory);
}

} // namespace lanner::test
