// What the tuner finds wrong with kernels of a GPU.

#include "fake_driver/queue.h"
#include "lowering/fault_case.h"

namespace lanner::test {
namespace {

class GpuFaults : public FaultTest {
protected:
  Queue queue() const override { return fake_queue; }
};

TEST_P(GpuFaults, AreFoundAndToldAndSpoilNothing) {
  expect_found();
}

INSTANTIATE_TEST_SUITE_P(Tuner, GpuFaults, testing::ValuesIn(fault_cases({DeviceKind::cuda, 0})), fault_name);

} // namespace
} // namespace lanner::test
