// Two networks that are evaluated side by side, as `lanner eval --precision int8` does.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../tools/output/paired_evaluation.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "video/clips.h"

namespace lanner::test {
namespace {

using tool::Outputs;

constexpr int batch = 4;

/// The mean of each channel: the scores of three classes.
Engine means() {
  using namespace onnx_file;
  return built(
      GraphSpec{.nodes = {node({"GlobalAveragePool", {"x"}, {"m"}}), node({"Flatten", {"m"}, {"y"}})},
                .inputs = {value("x", f32, {"N", "3", "2", "2"})},
                .outputs = {value("y", f32, {"N", "3"})}},
      {{"x", ShapeRange::fixed({batch, 3, 2, 2})}});
}

/// Pictures of the classes red, green and blue in turn; those in `damaged` cannot be read.
Dataset colours(std::size_t count, const std::vector<std::size_t>& damaged = {}) {
  ClassPictures pictures;
  for (std::size_t i = 0; i < count; ++i) {
    pictures.names.push_back("p" + std::to_string(i));
    pictures.classes.push_back(static_cast<std::int64_t>(i % 3));
  }
  pictures.labels = {"red", "green", "blue"};
  pictures.read = [damaged](std::size_t i) {
    const auto bytes = std::make_shared<std::string>("P6 2 2 255\n");
    for (int pixel = 0; pixel < 4; ++pixel)
      for (std::size_t c = 0; c < 3; ++c) *bytes += static_cast<char>(c == i % 3 ? 120 : 5);
    if (std::ranges::find(damaged, i) != damaged.end()) *bytes = "not a picture";
    return Content{std::as_bytes(std::span(*bytes)), bytes};
  };
  return Dataset::of(std::move(pictures));
}

/// The measured number of runs and of compared rows.
struct Counts {
  int first = 0, second = 0;
  std::int64_t rows = 0;
};

class PairedEvaluation : public testing::Test {
protected:
  PairedEvaluation() {
    const Task given = Task::from_json("classify");
    std::string note;
    task_ = evaluation_task(resolve_task(engine_, given).task, given, note);
    options_.preprocess = Preprocess::preset("none");
    options_.preprocess->width = options_.preprocess->height = 2;
    options_.batch = batch;
  }

  /// The scores of the pictures, those of the class `wrong` turned round.
  Outputs scores(const Tensor& pictures, std::size_t wrong) const {
    Context context = engine_.create_context();
    Tensor y = context({{"x", pictures}}).at("y").tensor.clone();
    for (std::size_t row = 0; row < static_cast<std::size_t>(batch); ++row) {
      const auto three = y.as<float>().subspan(3 * row, 3);
      if (std::ranges::max_element(three) - three.begin() == static_cast<std::ptrdiff_t>(wrong))
        std::ranges::rotate(three, three.begin() + 1);
    }
    return {{"y", y}};
  }

  tool::PairedEvaluation evaluated(const Dataset& data, Counts& counts) {
    return tool::evaluate_pair(
        {engine_,
         [&](const Tensor& pictures) {
           ++counts.first;
           return scores(pictures, 3);
         }},
        {engine_,
         [&](const Tensor& pictures) {
           ++counts.second;
           return scores(pictures, 1);
         }},
        [&](const Outputs& first, const Outputs& second, std::int64_t rows) {
          EXPECT_EQ(first.at("y").shape(), second.at("y").shape());
          counts.rows += rows;
        },
        task_, data, options_);
  }

  Engine engine_ = means();
  Task task_;
  EvaluateOptions options_;
};

TEST_F(PairedEvaluation, EachNetworkRunsOnceOnEachPicture) {
  LANNER_NEEDS_FFMPEG();
  options_.worst = 0;
  Counts counts;
  const auto both = evaluated(colours(9), counts);
  EXPECT_EQ(counts.first, 3);
  EXPECT_EQ(counts.second, 3);
  EXPECT_EQ(counts.rows, 9);
  EXPECT_DOUBLE_EQ(both.first.metric("top1"), 1);
  EXPECT_DOUBLE_EQ(both.second.metric("top1"), 6.0 / 9);
}

TEST_F(PairedEvaluation, TheWorstPicturesRunAgainThroughTheSecondNetworkAlone) {
  LANNER_NEEDS_FFMPEG();
  options_.worst = 2;
  Counts counts;
  const auto both = evaluated(colours(9), counts);
  EXPECT_EQ(counts.first, 3);
  EXPECT_EQ(counts.second, 4);
  EXPECT_EQ(counts.rows, 9);
  ASSERT_EQ(both.second.worst.size(), 2u);
  for (const WorstImage& one : both.second.worst) EXPECT_EQ(one.picture % 3, 1u) << one.source;
}

TEST_F(PairedEvaluation, AnswersAreThoseOfEvaluationsAlone) {
  LANNER_NEEDS_FFMPEG();
  Counts counts;
  const Dataset data = colours(11);
  const auto both = evaluated(data, counts);
  for (const std::size_t wrong : {3u, 1u}) {
    EvaluateOptions alone = options_;
    alone.run = [&](const Tensor& pictures) { return scores(pictures, wrong); };
    const Evaluation expected = evaluate(engine_, task_, data, alone),
                     &got = wrong == 3 ? both.first : both.second;
    ASSERT_EQ(got.metrics.size(), expected.metrics.size());
    for (std::size_t i = 0; i < got.metrics.size(); ++i)
      EXPECT_EQ(got.metrics[i].value, expected.metrics[i].value) << got.metrics[i].name;
  }
}

TEST_F(PairedEvaluation, PicturesThatCannotBeReadAreReportedOnceAndNotCompared) {
  LANNER_NEEDS_FFMPEG();
  std::vector<std::string> failures;
  options_.on_failed = [&](const Error& error) { failures.push_back(error.message()); };
  Counts counts;
  const auto both = evaluated(colours(9, {0, 4, 8}), counts);
  EXPECT_EQ(counts.rows, 6);
  EXPECT_EQ(failures.size(), 3u);
  EXPECT_EQ(both.first.failed, 3);
  EXPECT_EQ(both.second.failed, 3);
}

TEST_F(PairedEvaluation, AnErrorOfEitherNetworkEndsBoth) {
  LANNER_NEEDS_FFMPEG();
  const tool::PairedNetwork right{engine_, [&](const Tensor& pictures) { return scores(pictures, 3); }};
  const tool::PairedNetwork failing{
      engine_, [](const Tensor&) -> Outputs { throw Error(ErrorCode::device, "this network fails"); }};
  const auto pair = [&](const tool::PairedNetwork& first, const tool::PairedNetwork& second) {
    tool::evaluate_pair(
        first, second, [](const Outputs&, const Outputs&, std::int64_t) {}, task_, colours(40), options_);
  };
  LANNER_EXPECT_ERROR(pair(failing, right), ErrorCode::device, "this network fails");
  LANNER_EXPECT_ERROR(pair(right, failing), ErrorCode::device, "this network fails");
}

} // namespace
} // namespace lanner::test
