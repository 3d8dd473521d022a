#include "device/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/threads.h>

#include "temporary_folder.h"

namespace lanner {
namespace {

/// Flags of the first processor in /proc/cpuinfo, each between spaces; empty where there are none.
std::string kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) return line.substr(line.find(':') + 1) + " ";
  return {};
}

TEST(Cpu, FeaturesAgreeWithTheKernel) {
  const std::string flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags on this architecture";
  const CpuFeatures& features = cpu_features();
  EXPECT_EQ(features.avx2, flags.find(" avx2 ") != std::string::npos);
  EXPECT_EQ(features.fma, flags.find(" fma ") != std::string::npos);
  EXPECT_EQ(features.avx512f, flags.find(" avx512f ") != std::string::npos);
  EXPECT_EQ(features.avx512_bf16, flags.find(" avx512_bf16 ") != std::string::npos);
  EXPECT_EQ(features.avx_vnni, flags.find(" avx_vnni ") != std::string::npos);
  EXPECT_FALSE(cpu_name().empty());
}

TEST(Cpu, NamesAreJoined) {
  CpuFeatures features;
  EXPECT_EQ(features.to_string(), "baseline");
  features.avx2 = features.fma = true;
  EXPECT_EQ(features.to_string(), "avx2+fma");
  EXPECT_FALSE(features.has_avx2());
  features.f16c = true;
  EXPECT_TRUE(features.has_avx2());
  EXPECT_FALSE(features.has_avx512());
}

TEST(Cpu, EvictedMemoryKeepsItsContent) {
  std::vector<std::byte> block(100'001, std::byte{42});
  evict_from_caches(block.data() + 1, block.size() - 2);
  evict_from_caches(block.data(), 0);
  EXPECT_EQ(std::ranges::count(block, std::byte{42}), static_cast<std::ptrdiff_t>(block.size()));
}

TEST(Cpu, CoresAndCachesAreReported) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&allowed));
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), CPU_COUNT(&allowed));
  const long l1 = ::sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (l1 > 0) EXPECT_EQ(cache_sizes().l1, static_cast<std::size_t>(l1));
  if (l2 > 0) EXPECT_EQ(cache_sizes().l2, static_cast<std::size_t>(l2));
  EXPECT_GE(cache_sizes().l1, 4096u);
  EXPECT_GE(cache_sizes().l2, cache_sizes().l1);
}

TEST(Cpu, QuotaOfControlGroupsVersion2) {
  const TemporaryFolder mount;
  EXPECT_EQ(cgroup_quota("0::/a/b\n", mount.path()), 0);
  mount.write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_quota("0::/a/b\n", mount.path()), 0);
  mount.write("a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_quota("0::/a/b\n", mount.path()), 1.5);
  mount.write("cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_quota("0::/a/b\n", mount.path()), 0.5);
  EXPECT_EQ(cgroup_quota("0::/\n", mount.path()), 0.5);
}

TEST(Cpu, QuotaOfControlGroupsVersion1) {
  const TemporaryFolder mount;
  mount.write("cpu/g/cpu.cfs_quota_us", "400000\n");
  mount.write("cpu/g/cpu.cfs_period_us", "100000\n");
  mount.write("cpu/h/cpu.cfs_quota_us", "-1\n");
  mount.write("cpu/h/cpu.cfs_period_us", "100000\n");
  const std::string before = "4:cpuset:/g\n";
  EXPECT_EQ(cgroup_quota(before + "3:cpu,cpuacct:/g\n0::/\n", mount.path()), 4);
  EXPECT_EQ(cgroup_quota(before + "3:cpu,cpuacct:/h\n", mount.path()), 0);
  EXPECT_EQ(cgroup_quota(before, mount.path()), 0);
  EXPECT_EQ(cgroup_quota("nonsense\n::\n", mount.path()), 0);
}

} // namespace
} // namespace lanner
