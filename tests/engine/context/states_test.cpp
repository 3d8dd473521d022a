// States: values that a context keeps between runs.

#include <cmath>

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::numbers;
using test::ramp;

/// s_out = s + x, y = 2 * s_out.
std::string sum_model(const char* size = "4") {
  return model(
      graph({.nodes = {node({"Add", {"s", "x"}, {"s_out"}}), node({"Add", {"s_out", "s_out"}, {"y"}})},
             .inputs = {value("x", f32, {size}), value("s", f32, {size})},
             .outputs = {value("y", f32, {size}), value("s_out", f32, {size})}}));
}

BuildOptions with_state(const char* input, const char* output) {
  BuildOptions options = test::plain_options();
  options.states = {{input, output}};
  return options;
}

Engine sums() {
  return built(sum_model(), with_state("s", "s_out"));
}

std::vector<float> run(Context& context, const Tensor& x) {
  context.bind("x", x);
  context.run();
  return numbers(context.output("y").tensor);
}

TEST(States, BeginAsZerosAndAccumulate) {
  const Engine engine = sums();
  EXPECT_TRUE(engine.inputs()[1].state);
  EXPECT_TRUE(engine.outputs()[1].state);
  EXPECT_FALSE(engine.inputs()[0].state);
  Context context = engine.create_context();
  const Tensor ones = Tensor::from<float>(std::vector<float>{1, 2, 3, 4}, {4});
  EXPECT_EQ(run(context, ones), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(run(context, ones), (std::vector<float>{4, 8, 12, 16}));
  EXPECT_EQ(run(context, ones), (std::vector<float>{6, 12, 18, 24}));
}

TEST(States, CanBeReadSetAndReset) {
  const Engine engine = sums();
  Context context = engine.create_context();
  EXPECT_FALSE(context.state("s").tensor.defined());
  Tensor ones = Tensor::from<float>(std::vector<float>{1, 1, 1, 1}, {4});
  run(context, ones);
  run(context, ones);
  EXPECT_EQ(numbers(context.state("s").tensor), (std::vector<float>{2, 2, 2, 2}));
  Tensor set = Tensor::from<float>(std::vector<float>{10, 20, 30, 40}, {4});
  context.bind("s", set);
  set.as<float>()[0] = 99; // it was copied
  EXPECT_EQ(run(context, ones), (std::vector<float>{22, 42, 62, 82}));
  EXPECT_EQ(run(context, ones), (std::vector<float>{24, 44, 64, 84})); // for one run only
  EXPECT_EQ(set.as<float>()[1], 20);
  context.unbind(); // states stay
  EXPECT_EQ(run(context, ones), (std::vector<float>{26, 46, 66, 86}));
  context.reset_states();
  EXPECT_FALSE(context.state("s").tensor.defined());
  EXPECT_EQ(run(context, ones), (std::vector<float>{2, 2, 2, 2}));
  LANNER_EXPECT_ERROR(context.state("x"), ErrorCode::invalid_argument, "not a state");
  LANNER_EXPECT_ERROR(context.state("q"), ErrorCode::invalid_argument, "there is x, s");
}

TEST(States, AreSeparateForEachContext) {
  const Engine engine = sums();
  Context a = engine.create_context(), b = engine.create_context();
  const Tensor one = ramp({4}, 1), two = ramp({4}, 5);
  for (int i = 1; i <= 3; ++i) {
    const float turn = static_cast<float>(i);
    EXPECT_EQ(run(a, one)[0], 2 * turn);
    EXPECT_EQ(run(b, two)[0], 10 * turn);
  }
}

TEST(States, SwapBuffersInsteadOfCopying) {
  const Engine engine = sums();
  Context context = engine.create_context();
  const Tensor one = ramp({4});
  std::vector<const void*> places;
  for (int i = 0; i < 6; ++i) {
    run(context, one);
    places.push_back(context.output("s_out").tensor.data());
  }
  EXPECT_NE(places[2], places[3]);
  EXPECT_EQ(places[2], places[4]);
  EXPECT_EQ(places[3], places[5]);
}

TEST(States, ResultsThatAreHeldAreNotOverwritten) {
  const Engine engine = sums();
  Context context = engine.create_context();
  const Tensor one = ramp({4}, 1);
  std::vector<Tensor> held;
  for (int i = 1; i <= 4; ++i) {
    run(context, one);
    held.push_back(context.output("s_out").tensor);
  }
  for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(numbers(held[i])[0], static_cast<float>(i + 1));
}

TEST(States, AreUnchangedByAFailedRun) {
  const Engine engine = sums();
  Context context = engine.create_context();
  const Tensor one = ramp({4}, 1);
  run(context, one);
  Control control;
  control.cancel = CancelToken::create();
  control.cancel.cancel();
  LANNER_EXPECT_ERROR(context.run({}, control), ErrorCode::cancelled, "cancel");
  EXPECT_EQ(numbers(context.state("s").tensor)[0], 1);
  EXPECT_EQ(run(context, one)[0], 4);
  EXPECT_EQ(run(context, one)[0], 6);
}

TEST(States, OverwritableOnesAreUpdatedInPlace) {
  BuildOptions options = with_state("s", "s_out");
  options.overwritable = {"s"};
  const Engine engine = built(sum_model(), options);
  Context context = engine.create_context();
  const Tensor one = ramp({4}, 1);
  run(context, one);
  const void* place = context.output("s_out").tensor.data();
  for (int i = 2; i <= 4; ++i) {
    EXPECT_EQ(run(context, one)[0], 2 * static_cast<float>(i));
    EXPECT_EQ(context.output("s_out").tensor.data(), place);
  }
}

TEST(States, SurviveSavingAndLoadingAPlan) {
  const TemporaryFolder folder;
  BuildOptions options = with_state("s", "s_out");
  options.overwritable = {"x"};
  options.storages["s"] = BindingStorage::parse("row:f16");
  built(sum_model(), options).save(folder.path() / "sums.plan");
  const Engine engine = Engine::load(folder.path() / "sums.plan");
  EXPECT_TRUE(engine.inputs()[1].state);
  EXPECT_TRUE(engine.inputs()[0].overwritten);
  EXPECT_EQ(engine.inputs()[1].storage, "f16 row");
  EXPECT_EQ(engine.outputs()[1].dtype, DType::f16);
  Context context = engine.create_context();
  EXPECT_EQ(run(context, ramp({4}, 1))[0], 2);
  EXPECT_EQ(run(context, ramp({4}, 1))[0], 4);
  EXPECT_EQ(context.state("s").tensor.dtype(), DType::f16);
}

/// Sizes of states with the names of bound sizes follow these.
TEST(States, FollowSizesByName) {
  const Engine engine = built(sum_model("n"), with_state("s", "s_out"));
  Context context = engine.create_context();
  EXPECT_EQ(run(context, ramp({3}, 1)).size(), 3u);
  EXPECT_EQ(run(context, ramp({3}, 1))[0], 4);
  LANNER_EXPECT_ERROR(run(context, ramp({5}, 1)), ErrorCode::invalid_argument, "n is");
  context.reset_states();
  EXPECT_EQ(run(context, ramp({5}, 1)).size(), 5u);
}

TEST(States, RejectWhatDoesNotFit) {
  const auto build = [](const BuildOptions& options) { return built(sum_model(), options); };
  LANNER_EXPECT_ERROR(build(with_state("q", "s_out")), ErrorCode::invalid_argument, "no input 'q'");
  LANNER_EXPECT_ERROR(build(with_state("s", "q")), ErrorCode::invalid_argument, "there is y, s_out");
  BuildOptions both = with_state("s", "s_out");
  both.aliases = {{"s_out", "x"}};
  LANNER_EXPECT_ERROR(build(both), ErrorCode::invalid_argument,
                      "output s_out is a state or an alias already");
  both.aliases = {{"y", "s"}};
  LANNER_EXPECT_ERROR(build(both), ErrorCode::invalid_argument, "input s is a state or an alias already");
  BuildOptions free = with_state("s", "s_out");
  free.storages["s"].layout = "any";
  LANNER_EXPECT_ERROR(build(free), ErrorCode::unsupported, "name a layout");
  const std::string other =
      model(graph({.nodes = {node({"Cast", {"s"}, {"t"}, {attribute("to", 11)}}), node({"Neg", {"s"}, {"y"}}),
                             node({"Reshape", {"s", "shape"}, {"r"}})},
                   .inputs = {value("s", f32, {"4"})},
                   .outputs = {value("y", f32, {"4"}), value("t", 11, {"4"}), value("r", f32, {"2", "2"})},
                   .constants = {integers("shape", {2}, {2, 2})}}));
  LANNER_EXPECT_ERROR(built(other, with_state("s", "t")), ErrorCode::invalid_argument, "one type and shape");
  LANNER_EXPECT_ERROR(built(other, with_state("s", "r")), ErrorCode::invalid_argument, "one type and shape");
  Context context = sums().create_context();
  LANNER_EXPECT_ERROR(context.bind_output("s_out", Tensor::zeros(DType::f32, {4})),
                      ErrorCode::invalid_argument, "none can be bound");
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument, "x: f32[4] is not bound");
  LANNER_EXPECT_ERROR(context.bind("s", Tensor::zeros(DType::f32, {5})), ErrorCode::invalid_argument, "[5]");
}

TEST(States, VerificationSetsThemForEachRun) {
  BuildOptions options = with_state("s", "s_out");
  options.overwritable = {"s", "x"};
  VerifyOptions tried;
  tried.runs = 3;
  const Verification found = built(sum_model(), options).verify(tried);
  EXPECT_TRUE(found.right()) << found.network;
}

constexpr std::int64_t width = 8;

Message weights(const char* name, const std::vector<std::int64_t>& dims, int seed) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) * 1.7f + static_cast<float>(seed)) * 0.4f;
  return floats(name, dims, values);
}

TEST(States, GruInChunksEqualsTheWholeSequence) {
  const auto gru = [](const char* length) {
    return model(
        graph({.nodes = {node(
                   {"GRU", {"x", "w", "r", "", "", "h"}, {"y", "h_out"}, {attribute("hidden_size", width)}})},
               .inputs = {value("x", f32, {length, "1", "3"}), value("h", f32, {"1", "1", "8"})},
               .outputs = {value("y", f32, {length, "1", "1", "8"}), value("h_out", f32, {"1", "1", "8"})},
               .constants = {weights("w", {1, 3 * width, 3}, 1), weights("r", {1, 3 * width, width}, 2)}}));
  };
  const Tensor all = ramp({20, 1, 3});
  const Engine whole = built(gru("20"), test::plain_options());
  const std::vector<float> want = numbers(
      whole.create_context()({{"x", all}, {"h", Tensor::zeros(DType::f32, {1, 1, width})}}).at("y").tensor);
  Context streaming = built(gru("5"), with_state("h", "h_out")).create_context();
  std::vector<float> got;
  for (std::int64_t chunk = 0; chunk < 4; ++chunk) {
    auto* place = const_cast<float*>(all.as<float>().data()) + chunk * 15;
    const auto part = run(streaming, Tensor::wrap(place, DType::f32, {5, 1, 3}, all.owner()));
    got.insert(got.end(), part.begin(), part.end());
  }
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5f) << i;
}

/// One layer of causal attention. With a cache: of the newest token to all earlier ones; without: of all
/// tokens at once.
std::string decoder(bool cached) {
  std::vector<Message> nodes{node({"MatMul", {"x", "wq"}, {"q"}}), node({"MatMul", {"x", "wk"}, {"k_new"}}),
                             node({"MatMul", {"x", "wv"}, {"v_new"}})};
  const std::string k = cached ? "k" : "k_new", v = cached ? "v" : "v_new";
  if (cached) {
    nodes.push_back(node({"Concat", {"k_past", "k_new"}, {"k"}, {attribute("axis", 1)}}));
    nodes.push_back(node({"Concat", {"v_past", "v_new"}, {"v"}, {attribute("axis", 1)}}));
  }
  nodes.push_back(node({"Transpose", {k}, {"kt"}, {attribute("perm", std::vector<std::int64_t>{0, 2, 1})}}));
  nodes.push_back(node({"MatMul", {"q", "kt"}, {"scores"}}));
  if (!cached) nodes.push_back(node({"Add", {"scores", "mask"}, {"masked"}}));
  nodes.push_back(node({"Softmax", {cached ? "scores" : "masked"}, {"p"}, {attribute("axis", -1)}}));
  nodes.push_back(node({"MatMul", {"p", v}, {"y"}}));
  const std::string tokens = cached ? "1" : "100";
  std::vector<Message> inputs{value("x", f32, {"1", tokens, "8"})},
      outputs{value("y", f32, {"1", tokens, "8"})};
  if (cached) {
    for (const char* name : {"k_past", "v_past"}) inputs.push_back(value(name, f32, {"1", "past", "8"}));
    for (const char* name : {"k", "v"}) outputs.push_back(value(name, f32, {"1", "total", "8"}));
  }
  std::vector<float> mask(100 * 100, 0.f);
  for (std::size_t row = 0; row < 100; ++row)
    for (std::size_t column = row + 1; column < 100; ++column) mask[row * 100 + column] = -1e30f;
  std::vector<Message> constants{weights("wq", {width, width}, 3), weights("wk", {width, width}, 4),
                                 weights("wv", {width, width}, 5)};
  if (!cached) constants.push_back(floats("mask", {1, 100, 100}, mask));
  return model(graph({.nodes = nodes, .inputs = inputs, .outputs = outputs, .constants = constants}));
}

TEST(States, DecoderWithAGrowingCacheEqualsOneWithout) {
  const Tensor all = Tensor::allocate(DType::f32, {1, 100, width});
  auto* first = const_cast<float*>(all.as<float>().data());
  for (int i = 0; i < 100 * width; ++i) first[i] = std::cos(static_cast<float>(i) * 0.37f);
  const std::vector<float> want =
      numbers(built(decoder(false), test::plain_options()).create_context()({{"x", all}}).at("y").tensor);
  BuildOptions options = test::plain_options();
  options.states = {{"k_past", "k"}, {"v_past", "v"}};
  Context context = built(decoder(true), options).create_context();
  std::vector<float> got;
  for (std::int64_t t = 0; t < 100; ++t) {
    const auto step = run(context, Tensor::wrap(first + t * width, DType::f32, {1, 1, width}, all.owner()));
    got.insert(got.end(), step.begin(), step.end());
    ASSERT_EQ(context.state("k_past").tensor.shape(), (Shape{1, t + 1, width}));
  }
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-5f) << i;
  context.reset_states();
  EXPECT_NEAR(run(context, Tensor::wrap(first, DType::f32, {1, 1, width}, all.owner()))[0], want[0], 2e-5f);
}

} // namespace
} // namespace lanner
