// Drivers that are too old for the build's machine code.

#include "device/cuda/needed_driver.h"

#include <gtest/gtest.h>

#include "device/cuda/fatbin.h"

namespace lanner::cuda {
namespace {

constexpr EmbeddedCode code{13020, 90};

TEST(NeededDriver, MachineCodeRunsOnEveryDriverOfItsMajorRelease) {
  EXPECT_EQ(needed_driver(code, 75), 13000);
  EXPECT_EQ(needed_driver(code, 90), 13000);
  EXPECT_EQ(driver_shortfall(code, 90, 13000), "");
  EXPECT_EQ(driver_shortfall(code, 90, 14010), "");
  EXPECT_EQ(driver_shortfall(code, 90, 12090),
            "the driver is of CUDA 12.9, older than CUDA 13.0, which this build's GPU kernels need; update "
            "NVIDIA's driver");
}

TEST(NeededDriver, PtxNeedsADriverOfItsOwnRelease) {
  EXPECT_EQ(needed_driver(code, 100), 13020);
  EXPECT_NE(driver_shortfall(code, 100, 13010).find("older than CUDA 13.2"), std::string::npos);
  EXPECT_EQ(driver_shortfall(code, 100, 13020), "");
}

TEST(NeededDriver, NothingIsNeededWithoutKernelsOrSaidOfAnUnknownVersion) {
  EXPECT_EQ(driver_shortfall(EmbeddedCode{}, 90, 11000), "");
  EXPECT_EQ(driver_shortfall(code, 90, 0), "");
  EXPECT_EQ(driver_shortfall(Device{}), "");
}

TEST(NeededDriver, TheBuildKnowsItsCompiler) {
  if (embedded_fatbins().empty()) {
    EXPECT_EQ(fatbin_release(), 0);
  } else {
    EXPECT_GE(fatbin_release(), 12000);
    EXPECT_GE(fatbin_capability(), 75);
  }
}

} // namespace
} // namespace lanner::cuda
