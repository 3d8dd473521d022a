#include "device/machine_limits.h"

#include <fstream>

#include <gtest/gtest.h>

#include "backends/estimate.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

constexpr MachineLimits some{.operations = 1e11,
                             .half_operations = 2e11,
                             .bytes = 1e10,
                             .cached_bytes = 5e10,
                             .start = 1e-6,
                             .team_start = 3e-6};

class MachineLimitsFile : public testing::Test {
protected:
  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "cache" / "machine.txt";
};

TEST_F(MachineLimitsFile, StoresLimitsPerProcessor) {
  MachineLimits other = some;
  other.bytes = 7e9;
  keep_limits(file_, "one avx2", some);
  keep_limits(file_, "two avx2 avx512f", other);
  EXPECT_EQ(known_limits(file_, DeviceKind::cpu, "one avx2"), some);
  EXPECT_EQ(known_limits(file_, DeviceKind::cpu, "two avx2 avx512f"), other);
  keep_limits(file_, "one avx2", other);
  EXPECT_EQ(known_limits(file_, DeviceKind::cpu, "one avx2"), other);
}

TEST_F(MachineLimitsFile, UnknownProcessorOrMissingFileGivesBuiltInLimits) {
  keep_limits(file_, "one avx2", some);
  EXPECT_EQ(known_limits(file_, DeviceKind::cpu, "one"), shipped_limits(DeviceKind::cpu));
  EXPECT_EQ(known_limits(file_, DeviceKind::cuda, "two"), shipped_limits(DeviceKind::cuda));
  EXPECT_EQ(known_limits(folder_.path() / "none", DeviceKind::cpu, "one avx2"),
            shipped_limits(DeviceKind::cpu));
  EXPECT_EQ(known_limits({}, DeviceKind::cpu, "one avx2"), shipped_limits(DeviceKind::cpu));
}

TEST_F(MachineLimitsFile, DamagedLinesAreIgnored) {
  keep_limits(file_, "good", some);
  std::ofstream out(file_, std::ios::app);
  out << "1 2 3\n"
         "nan 1e11 1e10 1e10 1e-6 1e-6 0 0 first\n"
         "-1e11 1e11 1e10 1e10 1e-6 1e-6 0 0 second\n"
         "1e11 1e11 1e10 1e10 1e-6 1e9 0 0 third\n"
         "1e11 1e11 1e10 1e10 1e-6 1e-6 0 0\n";
  out.close();
  EXPECT_EQ(known_limits(file_, DeviceKind::cpu, "good"), some);
  for (const char* name : {"first", "second", "third", ""})
    EXPECT_EQ(known_limits(file_, DeviceKind::cpu, name), shipped_limits(DeviceKind::cpu)) << name;
}

TEST_F(MachineLimitsFile, GpuLimitsIncludeCopies) {
  MachineLimits gpu = some;
  gpu.copied_bytes = 5e10;
  gpu.copy_start = 8e-6;
  keep_limits(file_, "with", gpu);
  keep_limits(file_, "without", some);
  EXPECT_EQ(known_limits(file_, DeviceKind::cuda, "with"), gpu);
  EXPECT_EQ(known_limits(file_, DeviceKind::cuda, "without"), shipped_limits(DeviceKind::cuda));
}

TEST(Estimate, CopyUsesTheGpusLimits) {
  Target target;
  target.device = {DeviceKind::cuda, 0};
  EXPECT_DOUBLE_EQ(copy_seconds(2e9, target), 1e-5 + 0.1);
  target.limits = some;
  target.limits->copied_bytes = 1e10;
  target.limits->copy_start = 2e-5;
  EXPECT_DOUBLE_EQ(copy_seconds(2e9, target), 2e-5 + 0.2);
}

TEST(Estimate, IsTheMaximumOfComputeAndMemoryTimePlusTheStart) {
  Target target;
  target.limits = some;
  EXPECT_DOUBLE_EQ(seconds_of({.operations = 1e8}, target), 1e-3 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.operations = 1e8, .halves = true}, target), 5e-4 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.operations = 1e8, .bytes = 1e8}, target), 1e-2 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.bytes = 1e8, .threads = 2}, target), 5e-3 + 4e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.bytes = 1e5}, target), 2e-6 + 1e-6) << "what is small stays in a cache";
  target.device = {DeviceKind::cuda, 0};
  EXPECT_DOUBLE_EQ(seconds_of({.operations = 1e8, .threads = 2}, target), 1e-3 + 1e-6) << "a GPU is one";
}

TEST(Estimate, HostStepOfAGpuTargetUsesTheHostsLimits) {
  Target target;
  target.device = {DeviceKind::cuda, 0};
  EXPECT_EQ(target.machine(), shipped_limits(DeviceKind::cuda));
  EXPECT_EQ(target.for_device(DeviceKind::cpu).machine(), shipped_limits(DeviceKind::cpu));
  target.host_limits = some;
  EXPECT_EQ(target.for_device(DeviceKind::cpu).machine(), some);
}

} // namespace
} // namespace lanner
