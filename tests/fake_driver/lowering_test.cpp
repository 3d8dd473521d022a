// The cases of tests/lowering that target a GPU.

#include "fake_driver/queue.h"
#include "lowering/lowering_case.h"

namespace lanner::test {
namespace {

class GpuLowering : public LoweringCase {
protected:
  Queue queue() const override { return fake_queue; }
};

TEST_P(GpuLowering, GivesTheTextAfterAndTheSameNumbers) {
  expect_after();
}

INSTANTIATE_TEST_SUITE_P(Lowering, GpuLowering, testing::ValuesIn(lowering_cases(DeviceKind::cuda)),
                         ir_case_name);

} // namespace
} // namespace lanner::test
