// INT8 calibration of models with nodes that only TensorFlow runs: what TensorFlow is asked for, and what
// becomes of its answers. Here a function of the test answers in its place.

#include <lanner/tensorflow.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/file/file.h"
#include "expect_error.h"
#include "importers/graph_def_file.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;
using Batch = std::map<std::string, Item>;

std::string bytes_of(const std::filesystem::path& path) {
  const Content content = read_all(open_path(path));
  return {reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()};
}

/// x -> first (MatMul) -> relu -> odd (Lgamma) -> y (MatMul); without `last` odd is the output.
std::string network(bool last = true) {
  std::vector<float> weights(16);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>((i * 7) % 11) * 0.1f - 0.4f;
  std::vector<Message> nodes{placeholder("x", f32, {-1, 4}), floats("w", {4, 4}, weights),
                             node({"first", "MatMul", {"x", "w"}, {type("T", f32)}}),
                             node({"relu", "Relu", {"first"}, {type("T", f32)}}),
                             node({"odd", "Lgamma", {"relu"}, {type("T", f32)}})};
  if (last) nodes.push_back(node({"y", "MatMul", {"odd", "w"}, {type("T", f32)}}));
  return graph_def(nodes);
}

Tensor values(float first, float step) {
  std::vector<float> numbers(8);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = first + step * static_cast<float>(i);
  return Tensor::from<float>(numbers, {2, 4});
}

Batch batch(float first, float step) {
  return Batch{{"x", Item(values(first, step))}};
}

/// Two batches, or these.
CalibrationData data_of(std::vector<Batch> batches = std::vector<Batch>{batch(-1, 0.25f), batch(1, 0.5f)}) {
  return [batches = std::move(batches), next = std::size_t{0}](bool restart) mutable -> std::optional<Batch> {
    if (restart) next = 0;
    if (next == batches.size()) return std::nullopt;
    return batches[next++];
  };
}

tf::ConvertOptions int8(tf::TensorFlowRun run, CalibrationData data = data_of()) {
  tf::ConvertOptions options;
  options.build.budget = 0;
  options.build.threads = 1;
  options.minimum_segment_size = 1;
  options.build.precision.types.insert(DType::i8);
  options.build.calibration.data = std::move(data);
  options.build.calibration.calibrator = Calibrator::min_max;
  options.run_in_tensorflow = std::move(run);
  return options;
}

tf::Model convert(const std::string& file, const tf::ConvertOptions& options) {
  const auto held = std::make_shared<const std::string>(file); // the model keeps views of it
  return tf::Model::convert(open_bytes(std::as_bytes(std::span(*held)), held), options);
}

/// What is asked of TensorFlow.
struct Asked {
  std::string model;
  std::vector<Batch> batches;
  std::filesystem::path folder;
};

/// Answers with values of odd from 0.5 to 4, more in each batch.
tf::TensorFlowRun answering(Asked& asked) {
  return [&asked](const std::filesystem::path& folder, const CalibrationData& data, const Control&) {
    asked.model = bytes_of(folder / "saved_model.pb");
    asked.folder = folder;
    std::vector<Batch> results;
    for (auto batch = data(true); batch; batch = data(false)) {
      asked.batches.push_back(*batch);
      results.push_back(Batch{{"odd", Item(values(0.5f * static_cast<float>(asked.batches.size()), 0.5f))}});
    }
    return results;
  };
}

TEST(TensorFlowRun, AsksForWhatEnginesReadAndCalibratesThemWithIt) {
  Asked asked;
  const tf::Model model = convert(network(), int8(answering(asked)));
  EXPECT_EQ(asked.batches.size(), 2u);
  EXPECT_EQ(asked.model.find("TRTEngineOp"), std::string::npos) << "every node is TensorFlow's";
  EXPECT_NE(asked.model.find("calibration"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(asked.folder));
  ASSERT_EQ(model.counters().size(), 2u);
  for (const tf::EngineCounters& engine : model.counters()) {
    ASSERT_EQ(engine.cached.size(), 1u) << "the engine for the batches' shapes";
    EXPECT_EQ(engine.cached[0].shapes.begin()->second.opt, Shape({2, 4}));
    EXPECT_TRUE(engine.native.empty());
  }
  const TemporaryFolder folder;
  model.save(folder / "out");
  const std::string saved = bytes_of(folder / "out/saved_model.pb");
  EXPECT_NE(saved.find(R"("TensorRTInputPH_0" least=-1 most=4.5)"), std::string::npos) << "inputs are exact";
  EXPECT_NE(saved.find(R"("TensorRTInputPH_0" least=0.5 most=4.5)"), std::string::npos) << "of both batches";
  EXPECT_NE(saved.find("INT8"), std::string::npos);
  const auto plans = std::filesystem::directory_iterator(folder / "out/assets");
  EXPECT_EQ(std::distance(begin(plans), end(plans)), 2);
}

TEST(TensorFlowRun, IsNotAskedWhereEnginesReadTheInputsAlone) {
  const tf::Model model =
      convert(network(false), int8([](const auto&, const auto&, const auto&) -> std::vector<Batch> {
                fail(ErrorCode::internal, "it was asked");
              }));
  ASSERT_EQ(model.counters().size(), 1u);
  EXPECT_NE(model.needs_tensorflow(), "");
}

TEST(TensorFlowRun, WithoutTensorFlowTheRefusalNamesTheNodes) {
  LANNER_EXPECT_ERROR(
      convert(network(), int8([](const auto&, const auto&, const auto&) -> std::vector<Batch> {
                fail(ErrorCode::unsupported, "there is none");
              })),
      ErrorCode::unsupported, "there is none; nodes that only TensorFlow can run: Lgamma (odd): ");
}

TEST(TensorFlowRun, BatchesThatDoNotFitAreNamed) {
  Asked asked;
  const auto expect = [&](std::vector<Batch> batches, const char* message) {
    LANNER_EXPECT_ERROR(convert(network(), int8(answering(asked), data_of(std::move(batches)))),
                        ErrorCode::invalid_argument, message);
  };
  Batch more = batch(0, 1);
  more["z"] = Item(values(0, 1));
  expect({}, "the calibration data has no batch");
  expect(std::vector<Batch>{batch(0, 1), Batch()}, "calibration: batch 1: input x: no value was given");
  expect(std::vector<Batch>{more}, "calibration: batch 0: the model has no input 'z'");
}

TEST(TensorFlowRun, ATableNeedsNoRun) {
  tf::ConvertOptions options = int8([](const auto&, const auto&, const auto&) -> std::vector<Batch> {
    fail(ErrorCode::internal, "it was asked");
  });
  options.build.calibration.data = {};
  options.build.calibration.table.ranges = {{"TensorRTInputPH_0", symmetric_range(-1, 1)}};
  EXPECT_NE(convert(network(), options).needs_tensorflow(), "");
}

} // namespace
} // namespace lanner::test
