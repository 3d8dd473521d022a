// Ranges reported to profilers.

#include <string>
#include <vector>

#include <lanner/profiled_range.h>

#include "fake_driver/fake_gpu.h"
#include "fake_libraries/fake_nvtx.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

class ProfiledRanges : public GpuTest {
protected:
  void SetUp() override {
    fake_cuda_forget();
    fake_nvtx_forget();
  }
};

TEST_F(ProfiledRanges, push_their_names_and_start_the_profiler) {
  {
    const ProfiledRange all(gpu_device, "measured", true);
    for (int run = 0; run < 2; ++run) const ProfiledRange one(gpu_device, "run");
  }
  EXPECT_STREQ(fake_nvtx_log(), "measured\nrun\npop\nrun\npop\npop\n");
  EXPECT_STREQ(fake_cuda_log(), "cuProfilerStart\ncuProfilerStop\n");
}

TEST_F(ProfiledRanges, do_nothing_on_a_host_and_end_even_if_the_driver_fails) {
  { const ProfiledRange range({}, "host", true); }
  EXPECT_STREQ(fake_nvtx_log(), "");
  EXPECT_STREQ(fake_cuda_log(), "");
  fake_cuda_fail(1, launch_failed);
  { const ProfiledRange range(gpu_device, "failed", true); }
  EXPECT_STREQ(fake_nvtx_log(), "failed\npop\n");
  EXPECT_STREQ(fake_cuda_log(), "cuProfilerStart\n");
}

} // namespace
} // namespace lanner::test
