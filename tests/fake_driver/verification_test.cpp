// Engine::verify of networks on a GPU: streams, recorded kernels, steps on the host.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/lowered_engine.h"
#include "fake_driver/fake_gpu.h"
#include "fake_driver/queue.h"

namespace lanner::test {
namespace {

Verification verified(std::string_view kernel) {
  static const TableBackend backend("fast on cuda:0",
                                    "// relu as good: row cuda:0 -> row cuda:0 = 1\n"
                                    "// exp as good: row cuda:0 -> row cuda:0 = 1, in place 0\n"
                                    "// exp as bad: row cuda:0 -> row cuda:0 = 1, fault wrong value\n"
                                    "// exp as hasty: row cuda:0 -> row cuda:0 = 1, fault runs unrecorded\n",
                                    fake_queue);
  const Engine engine = lowered_engine(
      fmt::format("graph @g(%x: f32[2, 3] @ row cuda:0) -> (%y: f32[2, 3] as \"y\") {{\n"
                  "  %a: f32[2, 3] @ row cuda:0 = relu(%x) tactic(\"fast\", \"good\", _, 0.0)\n"
                  "  %y: f32[2, 3] @ row cuda:0 = exp(%a) tactic(\"fast\", \"{}\", _, 0.0)\n"
                  "}}\n",
                  kernel),
      backend, gpu_device);
  return engine.verify();
}

TEST(GpuVerify, FindsNothingWhereEveryKernelIsRight) {
  const Verification found = verified("good");
  EXPECT_TRUE(found.right()) << found.network;
  EXPECT_EQ(found.nodes, 2u);
}

TEST(GpuVerify, NamesTheNodeThatIsWrong) {
  const Verification found = verified("bad");
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_EQ(found.differences[0].name, "y");
  EXPECT_EQ(found.differences[0].kernel, "bad");
}

TEST(GpuVerify, RunsKernelsRecordedToo) {
  const Verification found = verified("hasty");
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_NE(found.differences[0].reason.find("differs from run to run"), std::string::npos)
      << found.differences[0].reason;
}

} // namespace
} // namespace lanner::test
