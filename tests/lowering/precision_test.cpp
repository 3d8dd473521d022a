// A precision that a device cannot use causes a warning and has no other effect.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "device/cpu.h"
#include "engine/heard.h"
#include "engine/small_models.h"
#include "engine/told.h"

namespace lanner {
namespace {

using Json = nlohmann::json;
using namespace test::onnx_file;

constexpr std::int64_t f16 = 10;

/// A product, a sum and a ReLU; `halves`: with f16 inputs and outputs.
std::string small_model(bool halves) {
  const std::vector<float> numbers(64 * 64, 0.01F);
  std::vector<Message> nodes{node({"MatMul", {"a", "w"}, {"p"}}), node({"Add", {"p", "a"}, {"s"}}),
                             node({"Relu", {"s"}, {halves ? "r" : "y"}})};
  if (halves) {
    nodes.insert(nodes.begin(), node({"Identity", {"x"}, {"a"}}));
    nodes.insert(nodes.begin(), node({"Cast", {"w32"}, {"w"}, {attribute("to", f16)}}));
    nodes.push_back(node({"Neg", {"r"}, {"y"}}));
  } else {
    nodes.insert(nodes.begin(), node({"Identity", {"x"}, {"a"}}));
    nodes.insert(nodes.begin(), node({"Identity", {"w32"}, {"w"}}));
  }
  const std::int64_t type = halves ? f16 : f32;
  return model(graph({.nodes = nodes,
                      .inputs = {value("x", type, {"8", "64"})},
                      .outputs = {value("y", type, {"8", "64"})},
                      .constants = {floats("w32", {64, 64}, numbers)}}));
}

Engine built(bool halves, const std::string& precision) {
  BuildOptions options = test::plain_options();
  options.deterministic = true;
  options.precision = Precision::parse(precision);
  return test::built(small_model(halves), options);
}

std::vector<std::string> kernels(const Engine& engine) {
  std::vector<std::string> list;
  const Json plan = test::told(engine);
  for (const Json& node : plan["nodes"])
    list.push_back(node["op"].get<std::string>() + " by " + node["backend"].get<std::string>() + ":" +
                   node["kernel"].get<std::string>());
  return list;
}

TEST(Precision, WithoutEffectOnACpuWarnsOnce) {
  for (const auto& [asked, lines] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"fp32", {}}, {"fp16", {"fp16"}}, {"fp32,bf16", {"bf16"}}, {"fp16,bf16", {"fp16", "bf16"}}}) {
    SCOPED_TRACE(asked);
    if (asked.find("bf16") != std::string::npos && cpu_features().avx512_bf16) continue; // has an effect here
    const test::Heard heard;
    const Engine engine = built(false, asked);
    const Json notes = test::told(engine)["notes"];
    ASSERT_EQ(notes.size(), lines.size());
    ASSERT_EQ(heard.lines().size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(heard.lines()[i], "small.onnx: " + notes[i].get<std::string>());
      EXPECT_NE(heard.lines()[i].find("precision " + lines[i] + " has no effect"), std::string::npos);
    }
    EXPECT_EQ(kernels(engine), kernels(built(false, "fp32")));
  }
}

TEST(Precision, SixteenBitModelsUseTheSameKernelsForAnyPrecisionOnACpu) {
  const std::vector<std::string> usual = kernels(built(true, "fp32"));
  ASSERT_GE(usual.size(), 2U);
  EXPECT_EQ(std::ranges::count(usual, "cast by cpu:elementwise"), 2) << usual.front();
  EXPECT_EQ(kernels(built(true, "fp16")), usual);
  EXPECT_EQ(kernels(built(true, "fp16,bf16")), usual);
}

} // namespace
} // namespace lanner
