// Data-dependent sizes on a GPU. Skipped, with the reason, where there is none.

#include "device/cuda/driver.h"
#include "run/found_elements.h"

namespace lanner::test {
namespace {

TEST(CudaFoundElements, AgreeWithTheDefinitions) {
  const cuda::DriverStatus& status = cuda::driver_status();
  if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
  expect_all_found({DeviceKind::cuda, 0});
}

} // namespace
} // namespace lanner::test
