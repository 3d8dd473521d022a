// Models converted in whole or in part: answers, saved files, reports, options.

#include <lanner/tensorflow.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "importers/graph_def_file.h"
#include "importers/tensorflow/saved_model_file.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;

/// x -> Relu -> Neg -> Exp -> Square -> Neg -> Tanh, which reads a product of constants too.
std::string chain() {
  return graph_def(
      {placeholder("x", f32, {-1, 2}), floats("a", {2}, {1, 2}), floats("b", {2}, {3, 4}),
       node({"ab", "Mul", {"a", "b"}, {type("T", f32)}}), node({"relu", "Relu", {"x"}, {type("T", f32)}}),
       node({"neg", "Neg", {"relu"}, {type("T", f32)}}), node({"exp", "Exp", {"neg"}, {type("T", f32)}}),
       node({"square", "Square", {"exp"}, {type("T", f32)}}),
       node({"scaled", "Mul", {"square", "ab"}, {type("T", f32)}}),
       node({"y", "Tanh", {"scaled"}, {type("T", f32)}})});
}

tf::ConvertOptions plain() {
  tf::ConvertOptions options;
  options.build.budget = 0;
  options.build.threads = 1;
  return options;
}

tf::Model convert(const std::string& file, const tf::ConvertOptions& options) {
  const auto held = std::make_shared<const std::string>(file); // the model keeps views of it
  return tf::Model::convert(open_bytes(std::as_bytes(std::span(*held)), held), options);
}

std::vector<float> run(const tf::Model& model, const std::vector<float>& x) {
  const Tensor given = Tensor::from<float>(x, {static_cast<std::int64_t>(x.size()) / 2, 2});
  const auto results = model.create_runner()({{"x", given}});
  const auto y = results.at("y").tensor.as<float>();
  return {y.begin(), y.end()};
}

std::vector<float> expected(const std::vector<float>& x) {
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float e = std::exp(-std::max(x[i], 0.f));
    y.push_back(std::tanh(e * e * (i % 2 == 0 ? 3.f : 8.f)));
  }
  return y;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << "element " << i;
}

std::size_t engines(const tf::Model& model) {
  return static_cast<std::size_t>(
      std::ranges::count_if(model.parts(), [](const tf::ConvertedPart& part) { return part.engine; }));
}

const std::vector<float> sample{0.1f, -1, 0.5f, 2, 3, 0.25f};

TEST(Convert, AWholeModelIsOneEngineWithItsConstants) {
  const tf::Model model = convert(chain(), plain());
  EXPECT_EQ(model.parts().size(), 1u);
  EXPECT_EQ(engines(model), 1u);
  EXPECT_EQ(model.share(), 1.0);
  expect_near(run(model, sample), expected(sample));
}

TEST(Convert, DeniedOperatorsAreNativeAndSoAreSmallParts) {
  tf::ConvertOptions options = plain();
  options.denied_operators = {"Exp"};
  const tf::Model model = convert(chain(), options);
  EXPECT_EQ(engines(model), 1u) << "two nodes before Exp are too few, three behind it are enough";
  EXPECT_EQ(model.parts().size(), 2u);
  expect_near(run(model, sample), expected(sample));
  for (const tf::ConvertedNode& node : model.nodes()) {
    if (node.name == "exp") {
      EXPECT_EQ(node.code, "denied_operator");
    }
    if (node.name == "relu") {
      EXPECT_EQ(node.code, "segment_too_small");
    }
    if (node.name == "ab") {
      EXPECT_FALSE(node.engine.empty()) << "it is computed from constants";
    }
  }
  options.minimum_segment_size = 2;
  EXPECT_EQ(engines(convert(chain(), options)), 2u);
  options.minimum_segment_size = 4;
  EXPECT_EQ(engines(convert(chain(), options)), 0u);
  options.minimum_segment_size = -1;
  const tf::Model none = convert(chain(), options);
  EXPECT_EQ(none.share(), 0);
  expect_near(run(none, sample), expected(sample));
}

TEST(Convert, ASavedModelLoadsWithAndWithoutItsPlans) {
  tf::ConvertOptions options = plain();
  options.denied_nodes = {"exp"};
  options.minimum_segment_size = 2;
  const tf::Model model = convert(chain(), options);
  model.build({{"x", Tensor::from<float>(sample, {3, 2})}});
  for (const bool plans : {true, false}) {
    const TemporaryFolder folder;
    model.save(folder / "out", plans);
    EXPECT_EQ(std::filesystem::exists(folder / "out/assets/trt-serialized-engine.TRTEngineOp_000_000"),
              plans);
    const tf::Model loaded = tf::Model::load(folder / "out", plain());
    EXPECT_EQ(engines(loaded), 2u);
    EXPECT_EQ(loaded.parts().size(), 3u);
    expect_near(run(loaded, sample), expected(sample));
    const Engine whole = Engine::build(folder / "out", plain().build);
    EXPECT_EQ(whole.inputs().at(0).name, "x") << "read as a model, its segments are inlined";
  }
}

TEST(Convert, ASavedModelKeepsTheSignaturesNameAndTheTags) {
  saved_model_file::MetaGraphSpec spec{
      {placeholder("a", f32, {-1, 2}), node({"b", "Neg", {"a"}, {type("T", f32)}})},
      {},
      {{"predict", {{{"x", {"a:0", f32, {-1, 2}}}}, {{"y", {"b:0", f32, {-1, 2}}}}}}}};
  spec.tags = {"serve", "gpu"};
  const TemporaryFolder folder;
  convert(saved_model_file::saved_model({spec}), plain()).save(folder / "out");
  tf::ConvertOptions named = plain();
  named.build.tensorflow.signature = "predict";
  named.build.tensorflow.tags = {"serve", "gpu"};
  EXPECT_EQ(run(tf::Model::load(folder / "out", named), {1, 2}), (std::vector<float>{-1, -2}));
  named.build.tensorflow.signature = "serving_default";
  LANNER_EXPECT_ERROR(tf::Model::load(folder / "out", named), ErrorCode::not_found, "predict");
}

TEST(Convert, TuneAtRunConcernsEnginesAlone) {
  tf::ConvertOptions options = plain();
  options.denied_operators = {"Exp"};
  options.build.tune_at_run = true;
  options.build.budget = 0.1;
  expect_near(run(convert(chain(), options), sample), expected(sample));
}

TEST(Convert, OneNodeThatCannotBeConvertedIsNamedWithItsReason) {
  const std::string file =
      graph_def({placeholder("x", f32, {-1, 2}), node({"odd", "NoSuchOperator", {"x"}, {type("T", f32)}}),
                 node({"y", "Neg", {"odd"}, {type("T", f32)}})});
  tf::ConvertOptions options = plain();
  options.stand_alone = true;
  LANNER_EXPECT_ERROR(convert(file, options), ErrorCode::unsupported,
                      "nodes that nothing here can run without TensorFlow: NoSuchOperator (odd)");
}

TEST(Convert, ValuesThatNothingWritesAreNamed) {
  const std::string file =
      graph_def({placeholder("x", f32, {-1, 2}), node({"sum", "AddV2", {"x", "nowhere"}, {type("T", f32)}}),
                 node({"y", "Neg", {"sum"}, {type("T", f32)}})});
  LANNER_EXPECT_ERROR(convert(file, plain()), ErrorCode::bad_data,
                      "node sum: value 'nowhere' is read, but no node writes it");
}

TEST(Convert, ShapesAndInputsAreChecked) {
  const tf::Model model = convert(chain(), plain());
  EXPECT_EQ(model.inputs().at(0).to_string(), "x: f32[batch, 2]");
  EXPECT_EQ(model.outputs().at(0).name, "y");
  auto runner = model.create_runner();
  LANNER_EXPECT_ERROR(runner({}), ErrorCode::invalid_argument, "input x: no value was given");
  const Tensor x = Tensor::from<float>(sample, {3, 2});
  LANNER_EXPECT_ERROR(runner({{"x", x}, {"z", x}}), ErrorCode::invalid_argument, "no input 'z'");
  tf::ConvertOptions options = plain();
  options.build.shapes["z"] = ShapeRange::fixed({1, 2});
  LANNER_EXPECT_ERROR(convert(chain(), options), ErrorCode::not_found, "shape of z");
  options.build.shapes.clear();
  options.minimum_segment_size = 0;
  LANNER_EXPECT_ERROR(convert(chain(), options), ErrorCode::invalid_argument, "minimum_segment_size 0");
}

/// Calibration data of one batch.
CalibrationData once(const Tensor& x) {
  return [x, given = false](bool restart) mutable {
    if (restart) given = false;
    std::optional<std::map<std::string, Item>> batch;
    if (!std::exchange(given, true)) batch = {{"x", Item(x)}};
    return batch;
  };
}

TEST(Convert, Int8IsCalibratedPartByPart) {
  std::vector<float> weights(64);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) * 0.1f - 0.3f;
  const auto product = [](const char* name, const char* x) {
    return node({name, "MatMul", {x, "w"}, {type("T", f32)}});
  };
  const std::string file = graph_def(
      {placeholder("x", f32, {-1, 8}), floats("w", {8, 8}, weights), product("first", "x"),
       node({"relu", "Relu", {"first"}, {type("T", f32)}}), node({"exp", "Exp", {"relu"}, {type("T", f32)}}),
       product("second", "exp"), node({"y", "Relu", {"second"}, {type("T", f32)}})});
  tf::ConvertOptions options = plain();
  options.minimum_segment_size = 2;
  options.denied_operators = {"Exp"};
  options.build.precision.types.insert(DType::i8);
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 13) % 17) * 0.1f - 0.8f;
  const Tensor x = Tensor::from<float>(values, {8, 8});
  options.build.calibration.data = once(x);
  const tf::Model model = convert(file, options);
  EXPECT_EQ(engines(model), 2u);
  const auto wanted = convert(file, plain()).create_runner()({{"x", x}}).at("y").tensor;
  const auto expect_int8 = [&](const tf::Model& each) {
    const auto got = each.create_runner()({{"x", x}}).at("y").tensor;
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const double w = wanted.as<float>()[i], g = got.as<float>()[i];
      signal += w * w;
      noise += (w - g) * (w - g);
    }
    EXPECT_LT(noise, signal * 0.01);
    EXPECT_GT(noise, 0) << "nothing was computed in INT8";
  };
  expect_int8(model);
  options.mode = tf::EngineMode::fixed; // calibration makes it dynamic
  const tf::Model dynamic = convert(file, options);
  expect_int8(dynamic);
  EXPECT_EQ(dynamic.counters().at(0).built, 1u);
  const TemporaryFolder folder;
  model.save(folder / "out", false);
  expect_int8(tf::Model::load(folder / "out", plain())); // by the tables in its nodes
}

TEST(Convert, APartWithoutAProductIsAnEngineInAModelInInt8) {
  std::vector<float> weights(64);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) * 0.1f - 0.3f;
  const std::string file = graph_def({placeholder("x", f32, {-1, 8}), floats("w", {8, 8}, weights),
                                      node({"product", "MatMul", {"x", "w"}, {type("T", f32)}}),
                                      node({"relu", "Relu", {"product"}, {type("T", f32)}}),
                                      node({"exp", "Exp", {"relu"}, {type("T", f32)}}),
                                      node({"neg", "Neg", {"exp"}, {type("T", f32)}}),
                                      node({"y", "Tanh", {"neg"}, {type("T", f32)}})});
  tf::ConvertOptions options = plain();
  options.minimum_segment_size = 2;
  options.denied_operators = {"Exp"};
  const Tensor x = Tensor::from<float>(weights, {8, 8});
  const Tensor wanted = convert(file, options).create_runner()({{"x", x}}).at("y").tensor;
  options.build.precision.types.insert(DType::i8);
  options.build.calibration.data = once(x);
  const auto expect_engines = [&](const tf::Model& model) {
    const Tensor got = model.create_runner()({{"x", x}}).at("y").tensor;
    for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(got.as<float>()[i], wanted.as<float>()[i], 0.05f);
    ASSERT_EQ(model.counters().size(), 2u);
    for (const tf::EngineCounters& engine : model.counters()) {
      EXPECT_EQ(engine.build_error, "");
      EXPECT_TRUE(engine.native.empty());
    }
  };
  const tf::Model model = convert(file, options);
  expect_engines(model);
  const TemporaryFolder folder;
  model.save(folder / "out", false);
  expect_engines(tf::Model::load(folder / "out", plain()));
}

} // namespace
} // namespace lanner::test
