// Which nodes are proposed as attention, how they are matched, and that one kernel computes the same.

#include "backends/attention/attention.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/attention/attention_source.h"
#include "backends/attention_cases.h"
#include "backends/tactic_check.h"
#include "device/cuda/driver.h"
#include "device/cuda/nvrtc.h"
#include "graph/parsed.h"

namespace lanner {
namespace {

using test::AttentionCase;

/// The nodes in the first proposal around the graph's softmax.
std::vector<std::string> proposed(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.body().nodes()) {
    const auto groups = propose_attention(*node, {});
    if (groups.empty()) continue;
    for (const Node* member : groups.front()) names.push_back(member->output()->name());
  }
  std::ranges::sort(names);
  return names;
}

TEST(Attention, GroupIncludesMovementOfOperandsAndResult) {
  const auto graph = test::parsed(test::packed_projection);
  EXPECT_EQ(proposed(*graph), (std::vector<std::string>{"a", "ks", "kt", "kz", "m", "p", "qs", "qz", "s", "t",
                                                        "v", "vs", "vz", "w", "y"}));
}

TEST(Attention, GroupEndsAtValuesWithOtherReaders) {
  std::string text = test::packed_projection;
  text.replace(text.find("-> (%y)"), 7, "-> (%y, %t)");
  const auto graph = test::parsed(text);
  EXPECT_EQ(proposed(*graph), (std::vector<std::string>{"ks", "kt", "kz", "m", "p", "qs", "qz", "s", "v",
                                                        "vs", "vz", "w", "y"}));
}

std::vector<const Node*> in_order(const Graph& graph, const std::vector<const Node*>& group) {
  std::vector<const Node*> ordered;
  for (const auto& node : graph.body().nodes())
    if (std::ranges::count(group, node.get())) ordered.push_back(node.get());
  return ordered;
}

TEST(Attention, OtherAxesAndProductsAreNotAttention) {
  const auto of = [](const char* softmax, const char* product) {
    const auto graph = test::parsed(fmt::format("graph @g(%q: f32[2, 3, 3], %k: f32[2, 3, 3]) -> (%y) {{\n"
                                                "%p = matmul(%q, %k)\n%s = softmax(%p) {{{}}}\n%y = {}\n}}\n",
                                                softmax, product));
    std::string reason;
    for (const auto& node : graph->body().nodes())
      for (const auto& group : propose_attention(*node, {}))
        if (read_attention(Group::of(in_order(*graph, group)), reason)) return true;
    return false;
  };
  EXPECT_TRUE(of("axis = -1", "matmul(%s, %k)"));
  EXPECT_FALSE(of("axis = 1", "matmul(%s, %k)"));
  EXPECT_FALSE(of("axis = -1", "matmul(%k, %s)"));
}

class AttentionCases : public testing::TestWithParam<AttentionCase> {};

std::optional<Attention> read(const AttentionCase& c) {
  const auto graph = test::parsed(c.fused());
  std::string reason;
  for (const auto& node : graph->body().nodes())
    if (node->kind() == "fused") return read_attention(Group::of(*node), reason);
  return std::nullopt;
}

TEST_P(AttentionCases, SourceCompilesForEveryTile) {
  if (!cuda::nvrtc_status().found) GTEST_SKIP() << "no NVRTC: " << cuda::nvrtc_status().reason;
  const auto attention = read(GetParam());
  ASSERT_TRUE(attention);
  for (const std::int64_t warps : {2, 4, 8}) {
    const auto tile = cuda::attention_tile(*attention, warps);
    if (!tile) continue;
    for (const DType type : {DType::f16, DType::bf16})
      EXPECT_FALSE(cuda::compile(cuda::attention_source(*attention, *tile, type), 80).empty());
  }
}

TEST_P(AttentionCases, GpuKernelAgreesWithTheReference) {
  const cuda::DriverStatus& status = cuda::driver_status();
  if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
  TacticCheck check;
  check.tolerance = 1e-4;
  check.device = {DeviceKind::cuda, 0};
  check.precisions = {DType::f32, DType::f16, DType::bf16};
  expect_offered(check_tactics(GetParam().fused(), check), {"cuda/attention"});
}

INSTANTIATE_TEST_SUITE_P(shapes, AttentionCases, testing::ValuesIn(test::attention_cases));

} // namespace
} // namespace lanner
