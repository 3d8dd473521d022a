// The cases of tests/lowering that are for a GPU.

#include "device/cuda/driver.h"
#include "fake_driver/fake_cuda.h"
#include "lowering/lowering_case.h"

namespace lanner::test {
namespace {

class GpuLowering : public LoweringCase {
protected:
  TableBackend::Queue queue() const override {
    return [](Stream stream, const std::function<void()>& work) {
      cuda::check(static_cast<cuda::Result>(fake_cuda_queue(stream.handle, work)), "cuLaunchKernel");
    };
  }
};

TEST_P(GpuLowering, GivesTheTextAfterAndTheSameNumbers) {
  expect_after();
}

INSTANTIATE_TEST_SUITE_P(Lowering, GpuLowering, testing::ValuesIn(lowering_cases(DeviceKind::cuda)),
                         ir_case_name);

} // namespace
} // namespace lanner::test
