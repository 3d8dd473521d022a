// Faults that the tuner finds in GPU kernels.

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fake_driver/queue.h"
#include "lowering/fault_case.h"
#include "lowering/tuner_bench.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

class GpuFaults : public FaultTest {
protected:
  Queue queue() const override { return fake_queue; }
};

TEST_P(GpuFaults, AreFoundAndReportedWithoutSideEffects) {
  expect_found();
}

INSTANTIATE_TEST_SUITE_P(Tuner, GpuFaults, testing::ValuesIn(fault_cases({DeviceKind::cuda, 0})), fault_name);

// The fake driver's events are 10 us apart, so that timing a single launch is too coarse.
TEST(Tuner, ShortGpuKernelsAreTimedInRecordedRows) {
  for (const bool recordable : {true, false}) {
    TunerBench bench("graph @g(%x: f32[2, 3]) -> (%y) {\n  %y = relu(%x)\n}\n", "fast on cuda:0",
                     fmt::format("// relu as one: row cuda:0 -> row cuda:0 = 1{}\n",
                                 recordable ? "" : ", fault unrecordable"),
                     fake_queue);
    bench.target.device = {DeviceKind::cuda, 0};
    EXPECT_EQ(bench.vet("one").wrong, "");
    fake_cuda_forget();
    const int launches = bench.launches([&] { EXPECT_TRUE(bench.cost("one", 1e6).measured); });
    EXPECT_EQ(count(fake_cuda_log(), "cuStreamBeginCapture"), recordable ? 1u : 0u);
    EXPECT_EQ(count(fake_cuda_log(), "cuGraphLaunch") > 5, recordable);
    EXPECT_GT(launches, 20);
    EXPECT_EQ(launches < 40, recordable) << "rows are launched individually, or not at all";
  }
}

} // namespace
} // namespace lanner::test
