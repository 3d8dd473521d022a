#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "engine/shapes_network.h"
#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "ops/interpreter/interpreter.h"

namespace lanner {
namespace {

using test::shapes_engine;
using test::waves;

void expect_close(const Tensor& a, const Tensor& b, float tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  const auto x = a.as<float>(), y = b.as<float>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << "element " << i;
}

TEST(Context, AgreesWithTheDefinitionOfTheNetwork) {
  const Engine engine = shapes_engine();
  Context context = engine.create_context();
  const auto got = context({{"input", waves()}});
  const std::vector<Item> inputs{waves()};
  const auto want = run_reference(*state_of(engine).graph, inputs);
  for (std::size_t i = 0; i < want.size(); ++i)
    expect_close(got.at(engine.outputs()[i].name).tensor, want[i].tensor, 2e-4f);
}

TEST(Context, BatchEqualsItsElementsRunAlone) {
  const Engine one = shapes_engine(1, 1), two = shapes_engine(1, 2);
  Context single = one.create_context(), pair = two.create_context();
  const Tensor both = waves(2);
  const auto got = pair({{"input", both}}).at("scores").tensor;
  for (std::int64_t n = 0; n < 2; ++n) {
    auto* place = const_cast<std::byte*>(static_cast<const std::byte*>(both.data())) +
                  both.bytes() / 2 * static_cast<std::uint64_t>(n);
    const auto alone = single({{"input", Tensor::wrap(place, DType::f32, {1, 3, 192, 320}, both.owner())}})
                           .at("scores")
                           .tensor;
    const auto a = alone.as<float>(),
               b = got.as<float>().subspan(static_cast<std::size_t>(n) * alone.as<float>().size(),
                                           alone.as<float>().size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5f);
  }
}

TEST(Context, ResultsThatAreHeldAreNotOverwritten) {
  const Engine engine = shapes_engine();
  Context context = engine.create_context();
  context.bind("input", waves(1, 1));
  context.run();
  const Tensor first = context.output("scores").tensor;
  const Tensor copy = first.clone();
  context.bind("input", waves(1, 2));
  context.run();
  expect_close(first, copy, 0);
  EXPECT_NE(context.output("scores").tensor.data(), first.data());
}

TEST(Context, ResultsAreWrittenToBoundMemory) {
  const Engine engine = shapes_engine();
  Context context = engine.create_context();
  context.bind("input", waves());
  context.run();
  const Tensor want = context.output("boxes").tensor.clone();
  Tensor own = Tensor::zeros(DType::f32, want.shape());
  context.bind_output("boxes", own);
  context.run();
  expect_close(own, want, 0);
  LANNER_EXPECT_ERROR((context.bind_output("boxes", Tensor::zeros(DType::f32, {3})), context.run()),
                      ErrorCode::invalid_argument, "output boxes");
}

TEST(Context, RejectsInputsThatDoNotFit) {
  const Engine engine = shapes_engine();
  Context context = engine.create_context();
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument, "not bound");
  LANNER_EXPECT_ERROR(context.bind("inptu", waves()), ErrorCode::invalid_argument, "there is input");
  LANNER_EXPECT_ERROR(context.bind("input", Tensor::zeros(DType::u8, {1, 3, 192, 320})),
                      ErrorCode::invalid_argument, "got u8");
  LANNER_EXPECT_ERROR(context.bind("input", waves(2)), ErrorCode::invalid_argument, "expected");
}

TEST(Context, ThreadsShareAnEngine) {
  const Engine engine = shapes_engine();
  Context reference = engine.create_context();
  const Tensor want = reference({{"input", waves()}}).at("scores").tensor;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      Context own = engine.create_context();
      for (int run = 0; run < 5; ++run) {
        const Tensor got = own({{"input", waves()}}).at("scores").tensor;
        wrong[t] += !std::ranges::equal(got.as<float>(), want.as<float>());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Context, ProfilesEveryStep) {
  const Engine engine = shapes_engine();
  Context context = engine.create_context({.threads = 1, .profile = true});
  context({{"input", waves()}});
  context({{"input", waves()}});
  ASSERT_FALSE(context.profile().empty());
  for (const StepProfile& step : context.profile()) {
    EXPECT_EQ(step.runs, 2u);
    EXPECT_FALSE(step.backend.empty());
    EXPECT_FALSE(step.kernel.empty());
  }
}

TEST(Context, OpenSizesAreSpecialisedAtFirstUse) {
  BuildOptions options;
  options.budget = 0;
  options.threads = 1;
  options.shapes["input"] = {{1, 3, 192, 320}, {1, 3, 192, 320}, {3, 3, 192, 320}};
  const Engine engine = Engine::build(test::shapes_network(), options);
  Context context = engine.create_context();
  EXPECT_EQ(context({{"input", waves(3)}}).at("scores").tensor.shape()[0], 3);
  EXPECT_EQ(context({{"input", waves(1)}}).at("scores").tensor.shape()[0], 1);
  LANNER_EXPECT_ERROR(context({{"input", waves(4)}}), ErrorCode::invalid_argument, "was built for 1 to 3");
}

TEST(Context, LeastRecentlyUsedShapesAreEvictedExceptOptOnes) {
  using namespace test::onnx_file;
  const std::string file = model(graph({.nodes = {node({"Relu", {"x"}, {"y"}})},
                                        .inputs = {value("x", f32, {"n"})},
                                        .outputs = {value("y", f32, {"n"})}}));
  BuildOptions options = test::plain_options();
  options.shapes["x"] = {{1}, {500}, {1000}};
  const Engine engine = test::built(file, options);
  const auto made = [&](std::int64_t size) { return state_of(engine).variant({Shape{size}}, 1); };
  const std::weak_ptr<const MadeVariant> opt = made(500), second = made(600), third = made(601);
  for (std::int64_t size = 1; size < 100; ++size) {
    made(size);
    made(600);
  }
  EXPECT_FALSE(opt.expired());
  EXPECT_FALSE(second.expired());
  EXPECT_TRUE(third.expired());
}

/// A sequence of computed tensors outlives the memory that they were computed in.
TEST(Context, SequencesOutliveTheirContext) {
  using namespace test::onnx_file;
  const std::string bytes =
      model(graph({.nodes = {node({"Neg", {"x"}, {"a"}}), node({"Neg", {"a"}, {"b"}}),
                             node({"SequenceConstruct", {"a", "b"}, {"s"}}), node({"Neg", {"b"}, {"c"}}),
                             node({"Neg", {"c"}, {"d"}}), node({"Neg", {"d"}, {"e"}}),
                             node({"ConcatFromSequence", {"s"}, {"j"}, {attribute("axis", 0)}}),
                             node({"Add", {"j", "e"}, {"y"}})},
                   .inputs = {value("x", f32, {"1", "3"})},
                   .outputs = {value("y", f32, {"2", "3"})}}));
  const Engine engine = test::built(bytes, test::plain_options());
  Context context = engine.create_context();
  const std::vector<float> x{1, 2, 3};
  const auto y = context({{"x", Tensor::from<float>(x, {1, 3})}}).at("y").tensor;
  // a and e are -x, b is x.
  EXPECT_EQ(std::vector<float>(y.as<float>().begin(), y.as<float>().end()),
            (std::vector<float>{-2, -4, -6, 0, 0, 0}));
}

TEST(Context, RunFailureNamesNodeAndOperator) {
  using namespace test::onnx_file;
  const std::string bytes = model(graph({.nodes = {node({"Gather", {"x", "i"}, {"y"}, {}, {}, "lookup"})},
                                         .inputs = {value("x", f32, {"4", "3"}), value("i", i64, {"1"})},
                                         .outputs = {value("y", f32, {"1", "3"})}}));
  Context context = test::built(bytes, test::plain_options()).create_context();
  const std::vector<float> x(12);
  context.bind("x", Tensor::from<float>(x, {4, 3}));
  context.bind("i", Tensor::from<std::int64_t>(std::vector<std::int64_t>{9}, {1}));
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument, "node lookup (gather): ");
}

/// A loop whose condition is always true.
Engine endless_engine() {
  using namespace test::onnx_file;
  const Message body =
      graph({.nodes = {node({"Identity", {"go"}, {"on"}}), node({"Neg", {"s"}, {"next"}})},
             .inputs = {value("i", i64, {}), value("go", boolean, {}), value("s", f32, {"3"})},
             .outputs = {value("on", boolean, {}), value("next", f32, {"3"})}});
  const std::string bytes =
      model(graph({.nodes = {node({"Loop", {"", "", "x"}, {"y"}, {graph_attribute("body", body)}})},
                   .inputs = {value("x", f32, {"3"})},
                   .outputs = {value("y", f32, {"3"})}}));
  return test::built(bytes, test::plain_options());
}

TEST(Context, RunCanBeCancelledWithinALoop) {
  Context context = endless_engine().create_context();
  const std::vector<float> x{1, 2, 3};
  context.bind("x", Tensor::from<float>(x, {3}));
  for (int attempt = 0; attempt < 2; ++attempt) {
    Control control;
    control.cancel = CancelToken::create();
    int reports = 0;
    control.progress = [&](const ProgressUpdate&) {
      if (++reports == 20) control.cancel.cancel();
    };
    LANNER_EXPECT_ERROR(context.run({}, control), ErrorCode::cancelled, "loop");
    EXPECT_EQ(reports, 20);
  }
}

} // namespace
} // namespace lanner
