// Memory, streams and graphs on the fake driver.

#include <string>

#include <gtest/gtest.h>

#include <lanner/doctor.h>
#include <lanner/tensor.h>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"

namespace lanner::test {
namespace {

class FakeGpu : public GpuTest {
protected:
  void SetUp() override { fake_cuda_forget(); }
};

TEST_F(FakeGpu, is_listed) {
  const MachineFacts facts = machine_facts();
  ASSERT_EQ(facts.gpus.size(), 3u);
  EXPECT_EQ(facts.gpus[0].name, "Fake GPU");
  EXPECT_TRUE(facts.driver.found);
}

TEST_F(FakeGpu, tensors_go_there_and_back) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor host = Tensor::from<float>(values, {2, 3});
  const std::size_t before = fake_cuda_memory();
  {
    const Tensor there = host.to(gpu_device);
    EXPECT_EQ(there.device(), gpu_device);
    EXPECT_EQ(fake_cuda_memory(), before + 1);
    const Tensor back = there.to(Device{});
    EXPECT_EQ(std::vector<float>(back.as<float>().begin(), back.as<float>().end()), values);
    EXPECT_EQ(there.clone().as<float>()[5], 6);
  }
  EXPECT_EQ(fake_cuda_memory(), before);
}

TEST_F(FakeGpu, a_full_gpu_refuses_and_stays_usable) {
  fake_cuda_limit(1 << 20);
  LANNER_EXPECT_ERROR(Tensor::allocate(DType::u8, {2 << 20}, {}, gpu_device), ErrorCode::out_of_memory,
                      "2097152 bytes on cuda:0: cuMemAlloc");
  EXPECT_TRUE(Tensor::allocate(DType::u8, {1 << 10}, {}, gpu_device).defined());
}

TEST_F(FakeGpu, strings_stay_on_the_host) {
  LANNER_EXPECT_ERROR(Tensor::allocate(DType::string, {2}, {}, gpu_device), ErrorCode::invalid_argument,
                      "strings cannot be on cuda:0");
}

TEST_F(FakeGpu, other_gpus_do_not_exist) {
  LANNER_EXPECT_ERROR(Tensor::allocate(DType::u8, {2}, {}, {DeviceKind::cuda, 3}),
                      ErrorCode::invalid_argument, "cuda:3 does not exist: the driver lists 3 GPUs");
}

TEST_F(FakeGpu, recorded_work_is_done_when_it_is_launched) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  const Tensor from = Tensor::from<int>(std::vector<int>{7}, {1}).to(gpu_device);
  Tensor to = Tensor::from<int>(std::vector<int>{0}, {1}).to(gpu_device);
  const cuda::OwnedStream stream(gpu);
  const auto graph = cuda::GraphExec::capture(gpu, stream, [&](cuda::StreamHandle queue) {
    copy_memory({to.data(), gpu_device}, {const_cast<void*>(from.data()), gpu_device}, 4, {queue});
  });
  EXPECT_EQ(to.to(Device{}).as<std::int32_t>()[0], 0);
  graph->launch(stream.handle());
  stream.synchronize();
  EXPECT_EQ(to.to(Device{}).as<std::int32_t>()[0], 7);
}

TEST_F(FakeGpu, failure_while_recording_ends_the_recording) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  const cuda::OwnedStream stream(gpu);
  const auto failing = [&] {
    cuda::GraphExec::capture(gpu, stream, [](cuda::StreamHandle) { fail(ErrorCode::device, "planned"); });
  };
  LANNER_EXPECT_ERROR(failing(), ErrorCode::device, "planned");
  stream.synchronize(); // refused while a stream records
}

TEST_F(FakeGpu, errors_contain_the_drivers_message) {
  const Tensor host = Tensor::from<int>(std::vector<int>{7}, {1});
  fake_cuda_fail(2, launch_failed); // the copy: the allocation comes first
  LANNER_EXPECT_ERROR(static_cast<void>(host.to(gpu_device)), ErrorCode::device,
                      "cuMemcpyHtoDAsync: CUDA_ERROR_FAKE (asked for by a test)");
  fake_cuda_fail(1, out_of_memory);
  LANNER_EXPECT_ERROR(static_cast<void>(host.to(gpu_device)), ErrorCode::out_of_memory,
                      "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY");
}

} // namespace
} // namespace lanner::test
