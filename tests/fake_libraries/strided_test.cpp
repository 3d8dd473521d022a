// Concatenations and splits of several images on the fakes: convolutions write and read slices in place, and
// no other kernel runs.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "fake_libraries/library_network.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

/// Of the network as built.
std::size_t steps(const Engine& engine) {
  const std::string text = engine.explain_json(), key = "\"steps\": ";
  const std::size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::stoul(text.substr(at + key.size()));
}

/// Convolutions of 4 x 4 images, each with a relu, whose weights are all different.
class Model {
public:
  void conv(const std::string& from, const std::string& to, std::int64_t channels, std::int64_t made) {
    std::vector<float> weights(static_cast<std::size_t>(made * channels * 9));
    for (float& weight : weights) weight = 0.013F * static_cast<float>(next_++ % 23) - 0.14F;
    constants_.push_back(floats("w_" + to, {made, channels, 3, 3}, weights));
    nodes.push_back(node({"Conv",
                          {from, "w_" + to},
                          {"c_" + to},
                          {attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})}}));
    nodes.push_back(node({"Relu", {"c_" + to}, {to}}));
  }
  std::string bytes(std::int64_t images, const std::string& channels) const {
    const std::string n = std::to_string(images);
    return model(graph({.nodes = nodes,
                        .inputs = {value("x", f32, {n, "4", "4", "4"})},
                        .outputs = {value("y", f32, {n, channels, "4", "4"})},
                        .constants = constants_}));
  }
  std::vector<Message> nodes;

private:
  std::vector<Message> constants_;
  std::int64_t next_ = 0;
};

class StridedNetwork : public LibraryNetworkTest, public testing::WithParamInterface<std::int64_t> {
protected:
  static std::vector<float> run(const Engine& engine) {
    return LibraryNetworkTest::run(engine, {{"x", saw({GetParam(), 4, 4, 4}, 0.037F)}});
  }
  /// The steps of the network on the GPU, whose results equal the host's, also after loading a plan.
  std::size_t steps_of(const std::string& bytes) const {
    const Engine engine = build(bytes, gpu_device);
    const std::vector<float> expected = run(build(bytes, Device{}));
    expect_same(run(engine), expected);
    engine.save(folder_ / "model.plan");
    expect_same(run(Engine::load(folder_ / "model.plan")), expected);
    return steps(engine);
  }
};

TEST_P(StridedNetwork, parts_of_a_concatenation_are_written_in_place) {
  Model m;
  m.conv("x", "a", 4, 4);
  m.conv("x", "b", 4, 8);
  m.conv("x", "c", 4, 4);
  m.nodes.push_back(node({"Concat", {"a", "b", "c"}, {"j"}, {attribute("axis", 1)}}));
  m.conv("j", "y", 16, 4);
  EXPECT_EQ(steps_of(m.bytes(GetParam(), "4")), 4U);
}

/// As in detectors: a half is read alone, and the whole is read together with results computed from it.
TEST_P(StridedNetwork, parts_of_a_value_are_read_in_place) {
  Model m;
  m.conv("x", "a", 4, 8);
  m.nodes.push_back(node({"Split", {"a"}, {"s", "t"}, {attribute("axis", 1), attribute("num_outputs", 2)}}));
  m.conv("t", "u", 4, 4);
  m.nodes.push_back(node({"Concat", {"s", "t", "u"}, {"j"}, {attribute("axis", 1)}}));
  m.conv("j", "y", 12, 4);
  EXPECT_EQ(steps_of(m.bytes(GetParam(), "4")), 3U);
}

INSTANTIATE_TEST_SUITE_P(Images, StridedNetwork, testing::Values(1, 2, 8));

} // namespace
} // namespace lanner::test
