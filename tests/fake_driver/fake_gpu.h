#pragma once
// Shared by tests on the fake driver: its first GPU, and checks for failing calls.

#include <functional>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "fake_driver/fake_cuda.h"

namespace lanner::test {

inline constexpr Device gpu_device{DeviceKind::cuda, 0};
/// Statuses of the driver.
inline constexpr int out_of_memory = 2, launch_failed = 719;

/// Resets the driver: no failures, immediate execution, all memory available.
class GpuTest : public testing::Test {
protected:
  void TearDown() override;
};

/// Skips the test where the library has no GPU kernels.
class GpuKernelTest : public GpuTest {
protected:
  void SetUp() override;
};

/// Whether `work` throws when the `number`-th call from now on (by default of the driver) returns `status`.
/// What it throws must be the Error for that status.
bool fails(std::size_t number, int status, const std::function<void()>& work,
           void (*fail)(std::size_t number, int status) = fake_cuda_fail);

/// Contexts that must keep working after failed calls.
struct RunsToFail {
  std::function<Context()> create;
  std::function<bool(Context&)> right; ///< Runs it once more: whether its results are correct.
  /// Called before the run whose `number`-th call is to fail; may be empty.
  std::function<void(Context&, std::size_t number)> prepare = {};
};
/// Fails each call of a context's first run once, of its second, which records, and of its third, which
/// replays: later runs are correct, and nothing leaks.
void expect_to_go_on(const RunsToFail& runs);

} // namespace lanner::test
