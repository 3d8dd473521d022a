// Which nodes go to INT8 where the engine is for a GPU, whose tensor cores take bytes in pairs.

#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "builder/int8/int8.h"
#include "graph/parsed.h"

namespace lanner {
namespace {

const char* const network = "graph @g(%x: f32[1, 3, 8, 8]) -> (%y) {\n"
                            "%w = constant() {value = random(f32[8, 3, 3, 3], seed = 1, std = 0.3)}\n"
                            "%v = constant() {value = random(f32[8, 1, 3, 3], seed = 2, std = 0.3)}\n"
                            "%u = constant() {value = random(f32[4, 8, 1, 1], seed = 3, std = 0.3)}\n"
                            "%first: f32[1, 8, 6, 6] = conv(%x, %w)\n"
                            "%each: f32[1, 8, 4, 4] = conv(%first, %v) {group = 8}\n"
                            "%y: f32[1, 4, 4, 4] = conv(%each, %u)\n}";

/// By node, why it is not in INT8; empty where it is.
std::map<std::string, std::string> reasons_on(Device device) {
  const auto graph = test::parsed(network);
  BuildOptions options;
  for (const char* value : {"x", "first", "each"})
    options.calibration.table.ranges[value] = {-1, 1, 1, Calibrator::min_max};
  Target target;
  target.device = device;
  target.precision.types = {DType::f32, DType::i8};
  to_int8(*graph, options, target);
  std::map<std::string, std::string> reasons;
  const auto report = nlohmann::json::parse(graph->metadata.at("lanner.int8"));
  for (const auto& node : report.at("nodes"))
    reasons[node.at("node")] = node.at("int8") ? "" : node.at("why").get<std::string>();
  return reasons;
}

TEST(Int8OnGpu, OddAndDepthwiseChannelsStayReals) {
  const auto reasons = reasons_on({DeviceKind::cuda, 0});
  EXPECT_EQ(reasons.at("first"), "3 channels, an odd number, have no INT8 kernel on a GPU");
  EXPECT_EQ(reasons.at("each"), "a depthwise convolution has no INT8 kernel on a GPU");
  EXPECT_EQ(reasons.at("y"), "");
  for (const auto& [node, reason] : reasons_on({})) EXPECT_EQ(reason, "") << node;
}

} // namespace
} // namespace lanner
