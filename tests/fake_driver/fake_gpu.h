#pragma once
// What tests on the fake driver share: its first GPU, and what has to hold when its calls fail.

#include <functional>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "fake_driver/fake_cuda.h"

namespace lanner::test {

inline constexpr Device gpu_device{DeviceKind::cuda, 0};
/// Statuses of the driver.
inline constexpr int out_of_memory = 2, launch_failed = 719;

/// Leaves the driver as it was: it fails nothing, does what is queued at once, and has all its memory.
class GpuTest : public testing::Test {
protected:
  void TearDown() override;
};

/// Skipped where the library has no kernels for GPUs.
class GpuKernelTest : public GpuTest {
protected:
  void SetUp() override;
};

/// Whether `work` throws where the `number`-th call from now on, by default of the driver, gives `status`.
/// What it throws has to be the Error of that status.
bool fails(std::size_t number, int status, const std::function<void()>& work,
           void (*fail)(std::size_t number, int status) = fake_cuda_fail);

/// Contexts whose runs are to go on after calls that failed.
struct RunsToFail {
  std::function<Context()> create;
  std::function<bool(Context&)> right; ///< Runs it once more: whether its results are as they have to be.
  /// Before the run whose `number`-th call is to fail; may be empty.
  std::function<void(Context&, std::size_t number)> prepare = {};
};
/// Each call of a context's first run fails once, of its second, which records, and of its third, which
/// replays: runs behind it are right, and nothing is left in the end.
void expect_to_go_on(const RunsToFail& runs);

} // namespace lanner::test
