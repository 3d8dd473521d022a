#include "device/cuda/fatbin.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace lanner::cuda {
namespace {

TEST(Fatbin, every_source_is_embedded_and_aligned) {
  const auto fatbins = embedded_fatbins();
  if (fatbins.empty()) GTEST_SKIP() << "built without nvcc or without .cu files";
  EXPECT_EQ(fatbins.size(), static_cast<size_t>(LANNER_CUDA_SOURCES));
  for (const Fatbin& fatbin : fatbins) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(fatbin.data.data()) % 64, 0u) << fatbin.name;
    // The header of a fat binary: magic, version, header size, payload size.
    ASSERT_GE(fatbin.data.size(), 16u) << fatbin.name;
    uint32_t magic = 0;
    uint16_t header = 0;
    uint64_t payload = 0;
    std::memcpy(&magic, fatbin.data.data(), 4);
    std::memcpy(&header, fatbin.data.data() + 6, 2);
    std::memcpy(&payload, fatbin.data.data() + 8, 8);
    EXPECT_EQ(magic, 0xBA55ED50u) << fatbin.name;
    EXPECT_EQ(header + payload, fatbin.data.size()) << fatbin.name;
  }
}

} // namespace
} // namespace lanner::cuda
