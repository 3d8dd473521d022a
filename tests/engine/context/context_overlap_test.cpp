// Outputs whose memory overlaps inputs or other outputs.

#include <cstring>

#include <gtest/gtest.h>

#include "engine/small_models.h"
#include "expect_error.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::numbers;
using test::plain_options;

/// y = softmax(x x), of which each element needs all of a row and of a column; and its negative.
std::string product() {
  return model(graph({.nodes = {node({.op = "MatMul", .inputs = {"x", "x"}, .outputs = {"square"}}),
                                node({.op = "Softmax", .inputs = {"square"}, .outputs = {"y"}}),
                                node({.op = "Sub", .inputs = {"x", "y"}, .outputs = {"z"}})},
                      .inputs = {value("x", f32, {"4", "4"})},
                      .outputs = {value("y", f32, {"4", "4"}), value("z", f32, {"4", "4"})}}));
}

/// A part of memory as a tensor.
Tensor part_of(std::vector<float>& memory, std::int64_t begin) {
  return Tensor::wrap(memory.data() + begin, DType::f32, {4, 4}, nullptr);
}

class Overlap : public ::testing::Test {
protected:
  Overlap() : engine(built(product(), plain_options())), context(engine.create_context()), memory(64) {
    for (std::size_t i = 0; i < 16; ++i) memory[i] = 0.1f * static_cast<float>(i);
    Context apart = engine.create_context();
    apart.bind("x", part_of(memory, 0).clone());
    apart.run();
    y = numbers(apart.output("y").tensor);
    z = numbers(apart.output("z").tensor);
  }

  Engine engine;
  Context context;
  std::vector<float> memory, y, z;
};

TEST_F(Overlap, OutputOverInputIsComputedInSeparateMemory) {
  for (const std::int64_t begin : {0, 1, 15}) {
    std::vector<float> again = memory;
    context.unbind();
    context.bind("x", part_of(again, 0));
    context.bind_output("y", part_of(again, begin));
    context.run();
    EXPECT_EQ(numbers(context.output("y").tensor), y) << begin;
    EXPECT_EQ(numbers(context.output("z").tensor), z) << begin;
    EXPECT_EQ(context.output("y").tensor.data(), again.data() + begin);
    EXPECT_EQ(std::memcmp(again.data() + begin, y.data(), 64), 0);
  }
}

TEST_F(Overlap, OutputOverInputIsRightInEachRun) {
  std::vector<float> again = memory;
  for (int run = 0; run < 4; ++run) {
    std::ranges::copy(memory, again.begin());
    context.bind("x", part_of(again, 0));
    context.bind_output("y", part_of(again, 8));
    context.bind_output("z", part_of(again, 24));
    context.run();
    EXPECT_EQ(std::memcmp(again.data() + 8, y.data(), 64), 0);
    EXPECT_EQ(std::memcmp(again.data() + 24, z.data(), 64), 0);
  }
}

TEST_F(Overlap, OfTwoOutputsIsRejected) {
  context.bind("x", part_of(memory, 0));
  context.bind_output("y", part_of(memory, 16));
  for (const std::int64_t begin : {16, 17, 31}) {
    context.bind_output("z", part_of(memory, begin));
    LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument, "outputs y and z: the memory bound");
  }
  context.bind_output("z", part_of(memory, 32)); // adjacent, without overlap
  context.run();
  EXPECT_EQ(std::memcmp(memory.data() + 16, y.data(), 64), 0);
  EXPECT_EQ(std::memcmp(memory.data() + 32, z.data(), 64), 0);
}

TEST(OverlapOfInputs, WithAnOverwrittenInputIsRejected) {
  const std::string sum = model(graph({.nodes = {node({.op = "Add", .inputs = {"a", "b"}, .outputs = {"y"}})},
                                       .inputs = {value("a", f32, {"4", "4"}), value("b", f32, {"4", "4"})},
                                       .outputs = {value("y", f32, {"4", "4"})}}));
  BuildOptions options = plain_options();
  options.overwritable = {"a"};
  Context context = built(sum, options).create_context();
  std::vector<float> memory(64, 1.f);
  context.bind("a", part_of(memory, 0));
  context.bind("b", part_of(memory, 8));
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument, "inputs a and b: their memory overlaps");
  context.bind("b", part_of(memory, 16));
  context.bind_output("y", part_of(memory, 4));
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument,
                      "output y: the memory bound for it overlaps");
  context.bind_output("y", part_of(memory, 32));
  context.run();
  EXPECT_EQ(memory[32], 2.f);
}

} // namespace
} // namespace lanner
