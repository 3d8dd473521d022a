// Movements that run as one kernel, against the definitions of the operators it replaces.

#include <gtest/gtest.h>

#include "backends/movement_chain_cases.h"
#include "backends/tactic_check.h"
#include "device/cuda/driver.h"
#include "device/cuda/nvrtc.h"

namespace lanner {
namespace {

TEST(CudaMovementChainKernels, AgreeWithTheReference) {
  if (cuda::driver_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda::driver_status().reason;
  if (!cuda::nvrtc_status().found) GTEST_SKIP() << "no NVRTC: " << cuda::nvrtc_status().reason;
  TacticCheck check;
  check.tolerance = 1e-6;
  check.device = {DeviceKind::cuda, 0};
  check.precisions = {DType::f32, DType::f16};
  for (const char* type : {"f32", "i64", "u8"})
    EXPECT_TRUE(
        check_tactics(test::fused(type, "[1, 8, 12, 16]", "[1]", test::roll() + test::windows()), check)
            .contains("cuda/movement_chain"))
        << type;
}

} // namespace
} // namespace lanner
