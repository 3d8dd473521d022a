#include <lanner/limits.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <lanner/error.h>

#include "base/limits/control_groups.h"

namespace lanner {
namespace {

std::string message_of(std::string_view assignment) {
  Limits limits;
  try {
    set_limit(limits, assignment);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Limits, AreSetByName) {
  Limits limits;
  set_limit(limits, "total_bytes=4GiB");
  set_limit(limits, "seconds=0.5");
  set_limit(limits, "rank=8");
  EXPECT_EQ(limits.total_bytes, 4ull << 30);
  EXPECT_EQ(limits.seconds, 0.5);
  EXPECT_EQ(limits.rank, 8u);
}

TEST(Limits, UnknownNameIsRefusedWithAllNames) {
  EXPECT_NE(message_of("memory=4").find("total_bytes"), std::string::npos);
  EXPECT_NE(message_of("total_bytes").find("NAME=VALUE"), std::string::npos);
}

TEST(Limits, InvalidAmountsAreRefused) {
  for (const char* text : {"rank=", "rank=-1", "rank=8x", "rank=5e9", "total_bytes=1e30", "seconds=nan"})
    EXPECT_NE(message_of(text), "") << text;
}

TEST(Limits, DefaultIsBelowTheMachinesMemory) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  ASSERT_TRUE(file >> name >> kilobytes);
  ASSERT_EQ(name, "MemTotal:");
  const std::uint64_t group = group_memory(own_groups(), "/sys/fs/cgroup");
  const std::uint64_t memory = group > 0 ? std::min(kilobytes * 1024, group) : kilobytes * 1024;
  EXPECT_EQ(Limits{}.total_bytes, memory / 4 * 3);
}

TEST(Limits, SmallestControlGroupLimitApplies) {
  namespace fs = std::filesystem;
  const fs::path mount = fs::path(testing::TempDir()) / "group_memory";
  fs::create_directories(mount / "a/b");
  std::ofstream(mount / "a/memory.max") << "1000\n";
  std::ofstream(mount / "a/b/memory.max") << "max\n";
  EXPECT_EQ(group_memory("0::/a/b\n", mount), 1000u);
  EXPECT_EQ(group_memory("0::/\n", mount), 0u);
  EXPECT_EQ(group_memory("", mount), 0u);
}

} // namespace
} // namespace lanner
