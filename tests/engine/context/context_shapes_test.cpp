// Contexts that switch between shapes and back.

#include <numeric>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"

namespace lanner {
namespace {

/// y = -x, of any size.
Engine negation(const Limits& limits = {}) {
  using namespace test::onnx_file;
  const std::string file = model(graph({.nodes = {node({"Neg", {"x"}, {"y"}})},
                                        .inputs = {value("x", f32, {"n"})},
                                        .outputs = {value("y", f32, {"n"})}}));
  BuildOptions options = test::plain_options();
  options.deterministic = true; // checking kernels takes memory
  options.limits = limits;
  return test::built(file, options);
}

Tensor counted(std::int64_t size, float first = 1) {
  Tensor tensor = Tensor::allocate(DType::f32, {size});
  std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), first);
  return tensor;
}

void run(Context& context, const Tensor& input) {
  context.bind("x", input);
  context.run();
  const Tensor got = context.output("y").tensor;
  ASSERT_EQ(got.shape(), input.shape());
  for (std::size_t i = 0; i < input.as<float>().size(); ++i)
    ASSERT_EQ(got.as<float>()[i], -input.as<float>()[i]) << "element " << i;
}

const void* result(const Context& context) {
  return context.output("y").tensor.data();
}

TEST(ContextShapes, ResultMemoryIsReusedAfterReturningToAShape) {
  const Engine engine = negation();
  Context context = engine.create_context();
  run(context, counted(100));
  const void* hundred = result(context);
  run(context, counted(50));
  const void* fifty = result(context);
  for (int round = 0; round < 3; ++round) {
    run(context, counted(100, 7));
    EXPECT_EQ(result(context), hundred);
    run(context, counted(50, 8));
    EXPECT_EQ(result(context), fifty);
  }
}

TEST(ContextShapes, ResultsThatAreHeldAreNotOverwritten) {
  const Engine engine = negation();
  Context context = engine.create_context();
  run(context, counted(100, 1));
  const Tensor held = context.output("y").tensor;
  run(context, counted(50));
  run(context, counted(100, 200));
  EXPECT_EQ(held.as<float>()[0], -1);
  EXPECT_NE(result(context), held.data());
}

TEST(ContextShapes, TensorsOfTheCallerAreReleased) {
  const Engine engine = negation();
  Context context = engine.create_context();
  Tensor own = Tensor::zeros(DType::f32, {100}), input = counted(100);
  context.bind_output("y", own);
  run(context, input);
  EXPECT_EQ(own.as<float>()[99], -100);
  context.bind_output("y", {});
  run(context, counted(50));
  EXPECT_EQ(own.owner().use_count(), 1);
  EXPECT_EQ(input.owner().use_count(), 1);

  Tensor fifty = Tensor::zeros(DType::f32, {50});
  context.bind_output("y", fifty);
  run(context, counted(50));
  context.unbind();
  EXPECT_EQ(fifty.owner().use_count(), 1);
  run(context, counted(100));
  run(context, counted(50, 9));
  EXPECT_EQ(fifty.as<float>()[0], -1);
}

TEST(ContextShapes, BoundMemoryMustFitTheCurrentShapes) {
  const Engine engine = negation();
  Context context = engine.create_context();
  run(context, counted(50));
  run(context, counted(100));
  context.bind_output("y", Tensor::zeros(DType::f32, {50}));
  run(context, counted(50));
  context.bind("x", counted(100));
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument, "output y: memory for f32[50] was bound");
  LANNER_EXPECT_ERROR(context.output("y"), ErrorCode::invalid_argument, "nothing has run yet");
  context.bind_output("y", {});
  context.run();
  EXPECT_EQ(context.output("y").tensor.shape(), Shape{100});
}

TEST(ContextShapes, NumberOfKeptShapesIsBounded) {
  const Engine engine = negation();
  Context context = engine.create_context();
  run(context, counted(1000));
  const std::weak_ptr<const void> kept = context.output("y").tensor.owner();
  for (std::int64_t size = 1; size < 8; ++size) run(context, counted(size));
  EXPECT_FALSE(kept.expired());
  run(context, counted(8));
  EXPECT_TRUE(kept.expired());
}

TEST(ContextShapes, BytesOfKeptShapesAreBounded) {
  Limits limits;
  limits.total_bytes = 8u << 20;
  const Engine engine = negation(limits);
  Context context = engine.create_context();
  run(context, counted(1000));
  const std::weak_ptr<const void> small = context.output("y").tensor.owner();
  run(context, counted(300'000)); // 1.2 MB; an eighth of the limit is 1 MiB
  const std::weak_ptr<const void> large = context.output("y").tensor.owner();
  EXPECT_FALSE(small.expired());
  run(context, counted(2000));
  EXPECT_TRUE(large.expired());
}

// 0.9 MB are few enough to be kept, and do not fit beside 7.6 MB within the limit of 8.4 MB.
TEST(ContextShapes, KeptShapesAreDroppedForARunThatNeedsMemory) {
  Limits limits;
  limits.total_bytes = 8u << 20;
  const Engine engine = negation(limits);
  Context context = engine.create_context();
  run(context, counted(230'000));
  const std::weak_ptr<const void> kept = context.output("y").tensor.owner();
  run(context, counted(1'900'000));
  EXPECT_TRUE(kept.expired());
  for (const std::int64_t size : {230'000, 1'900'000}) run(context, counted(size));
}

TEST(ContextShapes, FailedRunDoesNotAffectOtherShapes) {
  const Engine engine = negation();
  Context context = engine.create_context();
  run(context, counted(100));
  const void* hundred = result(context);
  Control control;
  control.cancel = CancelToken::create();
  control.cancel.cancel();
  context.bind("x", counted(50));
  LANNER_EXPECT_ERROR(context.run({}, control), ErrorCode::cancelled, "");
  run(context, counted(100));
  EXPECT_EQ(result(context), hundred);
  run(context, counted(50));
}

} // namespace
} // namespace lanner
