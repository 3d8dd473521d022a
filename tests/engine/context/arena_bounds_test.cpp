// Upper bounds of the scratch memory for shapes of a profile.

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "engine/state.h"
#include "engine/told.h"

namespace lanner {
namespace {

using Profiles = std::vector<std::map<std::string, ShapeRange>>;

/// Convolutions of pictures of any size, with branches of different memory use.
std::string network() {
  using namespace test::onnx_file;
  const std::vector<float> numbers(8 * 8 * 3 * 3, 0.01F);
  const auto same = attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  return model(graph(
      {.nodes = {node({"Conv", {"x", "w"}, {"a"}, {same}}), node({"Sigmoid", {"a"}, {"b"}}),
                 node({"Conv", {"b", "w"}, {"c"}, {same}}),
                 node({"Softmax", {"c"}, {"d"}, {attribute("axis", 3)}}),
                 node(
                     {"Transpose", {"d"}, {"e"}, {attribute("perm", std::vector<std::int64_t>{0, 1, 3, 2})}}),
                 node({"MatMul", {"d", "e"}, {"f"}}), node({"MatMul", {"f", "a"}, {"g"}}),
                 node({"Concat", {"g", "b", "a"}, {"h"}, {attribute("axis", 1)}}),
                 node({"Softmax", {"h"}, {"y"}, {attribute("axis", 1)}})},
       .inputs = {value("x", f32, {"n", "8", "h", "w"})},
       .outputs = {value("y", f32, {"n", "24", "h", "w"})},
       .constants = {floats("w", {8, 8, 3, 3}, numbers)}}));
}

Engine built(const Profiles& profiles) {
  BuildOptions options = test::plain_options();
  options.deterministic = true;
  options.profiles = profiles;
  return test::built(network(), options);
}

nlohmann::json bounds(const Engine& engine) {
  return test::told(engine).at("memory").at("max_arena_bytes");
}

const Profiles two{{{"x", {{1, 8, 4, 4}, {2, 8, 12, 12}, {3, 8, 20, 24}}}},
                   {{"x", {{4, 8, 4, 4}, {4, 8, 8, 8}, {6, 8, 10, 10}}}}};

TEST(ArenaBound, HoldsForAllShapesOfAProfile) {
  const Engine engine = built(two);
  const nlohmann::json bound = bounds(engine);
  ASSERT_EQ(bound.size(), 2u);
  std::mt19937 random(9);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  Context context = engine.create_context();
  std::uint64_t largest = 0;
  for (int round = 0; round < 60; ++round) {
    const bool first = round % 2 == 0;
    Shape shape = first ? Shape{draw(1, 3), 8, draw(4, 20), draw(4, 24)}
                        : Shape{draw(4, 6), 8, draw(4, 10), draw(4, 10)};
    if (round == 0) shape = {3, 8, 20, 24};
    context.bind("x", Item(Tensor::zeros(DType::f32, shape)));
    context.run();
    EXPECT_LE(context.arena_bytes(), bound[first ? 0 : 1].get<std::uint64_t>()) << shape.to_string();
    if (first) largest = std::max(largest, context.arena_bytes());
  }
  EXPECT_EQ(largest, bound[0].get<std::uint64_t>()) << "the largest shapes need it";
  EXPECT_EQ(bounds(engine), bound) << "nothing raised it";
}

TEST(ArenaBound, IsUnsetForOpenSizes) {
  EXPECT_EQ(bounds(built({})), nlohmann::json::array());
  const std::string file = [] {
    using namespace test::onnx_file;
    return model(graph({.nodes = {node({"MatMul", {"x", "z"}, {"y"}})},
                        .inputs = {value("x", f32, {"n", "4"}), value("z", f32, {"4", "m"})},
                        .outputs = {value("y", f32, {"n", "m"})}}));
  }();
  BuildOptions options;
  options.deterministic = true;
  options.profiles = {{{"x", {{1, 4}, {1, 4}, {2, 4}}}}};
  const Engine engine = test::built(file, options);
  EXPECT_EQ(bounds(engine), nlohmann::json::array({nullptr}));
}

/// A variant that needs more, like one with kernels that need more scratch memory.
TEST(ArenaBound, CoversPreparedVariants) {
  const Engine engine = built(two);
  const EngineState& state = state_of(engine);
  const InputShapes small{Shape{1, 8, 4, 4}};
  const auto large = state.variant({Shape{3, 8, 40, 40}}, 1, {}, false);
  state.adopt(small, 1, {large->program, {}, 1});
  EXPECT_EQ(bounds(engine)[0].get<std::uint64_t>(), large->program->arena_bytes());
}

} // namespace
} // namespace lanner
