// The cases of tests/lowering for a CPU; tests/fake_driver/lowering_test.cpp runs the others.

#include "lowering/lowering_case.h"

namespace lanner::test {
namespace {

class HostLowering : public LoweringCase {};

TEST_P(HostLowering, GivesTheExpectedTextAndTheSameResults) {
  expect_after();
}

INSTANTIATE_TEST_SUITE_P(Lowering, HostLowering, testing::ValuesIn(lowering_cases(DeviceKind::cpu)),
                         ir_case_name);

} // namespace
} // namespace lanner::test
