// Measures of answers against numbers computed by hand, and against a plain implementation of COCO's
// protocol.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>
#include <lanner/evaluation.h>

#include "results.h"
#include "tasks/evaluation/average_precision.h"
#include "tasks/evaluation/rotated_box.h"
#include "tasks/evaluation/runs.h"
#include "tasks/files/run_lengths.h"

namespace lanner {
namespace {

using tasks::AveragePrecision;
using tasks::FoundObject;
using tasks::PrecisionSummary;
using tasks::TrueObject;

constexpr double near = 1e-12;

Task task_of(TaskKind kind, std::vector<std::string> labels = {}) {
  Task task;
  task.kind = kind;
  task.labels = std::move(labels);
  return task;
}

TaskResult found(TaskKind kind, const std::vector<Box4>& boxes, const std::vector<float>& scores,
                 const std::vector<std::int64_t>& labels) {
  TaskResult result = boxes_result(kind, 200, 200, boxes, labels);
  std::ranges::copy(scores, result.scores.as<float>().begin());
  return result;
}

GroundTruthObject object(std::int64_t label, double left, double top, double width, double height,
                         bool crowd = false) {
  GroundTruthObject object;
  object.label = label;
  object.box = {left, top, width, height};
  object.area = width * height;
  object.crowd = crowd;
  return object;
}

TEST(Evaluation, PrecisionIsInterpolatedAtEachRecall) {
  Evaluator evaluator(task_of(TaskKind::detect, {"cat"}));
  GroundTruth truth;
  truth.objects = {object(0, 10, 10, 40, 40), object(0, 100, 100, 40, 40)};
  evaluator.add("a.png",
                found(TaskKind::detect, {{10, 10, 50, 50}, {60, 10, 90, 40}, {100, 100, 140, 140}},
                      {.9f, .8f, .7f}, {0, 0, 0}),
                truth);
  const Evaluation evaluation = evaluator.finish();
  // Up to a recall of 0.5 all answers are right, beyond it two of three.
  EXPECT_NEAR(evaluation.metric("ap50"), (51 + 50 * 2 / 3.) / 101, 1e-9);
  EXPECT_NEAR(evaluation.metric("ap"), (51 + 50 * 2 / 3.) / 101, 1e-9);
  EXPECT_NEAR(evaluation.metric("ar_1"), 0.5, near);
  EXPECT_NEAR(evaluation.metric("ar_10"), 1, near);
  EXPECT_TRUE(std::isnan(evaluation.metric("ap_small")));
  EXPECT_NEAR(evaluation.metric("ap_medium"), 1, 1e-9); // The false one is small.
  // F1 is 2/3 with the first answer, 4/5 with all three.
  EXPECT_FLOAT_EQ(static_cast<float>(evaluation.metric("threshold")), .7f);
  EXPECT_NEAR(evaluation.metric("precision"), 2 / 3., near);
  EXPECT_NEAR(evaluation.metric("recall"), 1, near);
  EXPECT_NEAR(evaluation.metric("f1"), 0.8, near);
  ASSERT_EQ(evaluation.worst.size(), 1u);
  EXPECT_EQ(evaluation.worst[0].caption, "F1 0.80: 2 of 2 found, 1 false");
  ASSERT_EQ(evaluation.classes.size(), 1u);
  EXPECT_EQ(evaluation.classes[0].label, "cat");
  EXPECT_EQ(evaluation.classes[0].count, 2);
}

TEST(Evaluation, AnswersInACrowdAreIgnored) {
  Evaluator evaluator(task_of(TaskKind::detect));
  GroundTruth truth;
  truth.objects = {object(0, 0, 0, 40, 40), object(0, 100, 0, 80, 80, true)};
  evaluator.add("a.png",
                found(TaskKind::detect, {{100, 0, 120, 20}, {140, 40, 170, 70}, {0, 0, 40, 40}},
                      {.9f, .8f, .7f}, {0, 0, 0}),
                truth);
  EXPECT_NEAR(evaluator.finish().metric("ap"), 1, 1e-9);
}

/// A plain implementation of COCO's protocol: one overlap threshold, one range of areas.
struct PlainPicture {
  std::vector<FoundObject> found;
  std::vector<TrueObject> objects;
  std::vector<std::vector<double>> overlaps;
};

double plain_precision(const std::vector<PlainPicture>& pictures, std::int64_t label, double step,
                       double least, double most, std::size_t per_picture) {
  struct Answer {
    double score;
    bool right;
  };
  std::vector<Answer> answers;
  double objects = 0;
  for (const PlainPicture& picture : pictures) {
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < picture.found.size(); ++d)
      if (picture.found[d].label == label) order.push_back(d);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return picture.found[a].score > picture.found[b].score;
    });
    if (order.size() > per_picture) order.resize(per_picture);
    const auto counts = [&](const TrueObject& one) {
      return !one.crowd && one.area >= least && one.area <= most;
    };
    std::vector<bool> taken(picture.objects.size());
    for (const TrueObject& one : picture.objects) objects += one.label == label && counts(one);
    for (const std::size_t d : order) {
      // Counted objects first; ignored ones only where there is no other.
      std::size_t best = taken.size();
      for (const bool counting : {true, false}) {
        double reached = step;
        if (best != taken.size()) break;
        for (std::size_t g = 0; g < taken.size(); ++g) {
          const TrueObject& one = picture.objects[g];
          if (one.label != label || counts(one) != counting || (taken[g] && !one.crowd)) continue;
          if (picture.overlaps[d][g] < reached) continue;
          reached = picture.overlaps[d][g];
          best = g;
        }
      }
      const double area = picture.found[d].area;
      if (best == taken.size()) {
        if (area >= least && area <= most) answers.push_back({picture.found[d].score, false});
        continue;
      }
      taken[best] = true;
      if (counts(picture.objects[best])) answers.push_back({picture.found[d].score, true});
    }
  }
  if (objects == 0) return std::nan("");
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.score > b.score; });
  double sum = 0;
  for (int r = 0; r <= 100; ++r) {
    double best = 0, right = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      right += answers[i].right;
      if (right / objects >= r * 0.01) best = std::max(best, right / static_cast<double>(i + 1));
    }
    sum += best;
  }
  return sum / 101;
}

TEST(Evaluation, AgreesWithAPlainCocoImplementation) {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  std::vector<PlainPicture> pictures(40);
  AveragePrecision precision({1, 10, 100}, true);
  constexpr int classes = 3;
  for (PlainPicture& picture : pictures) {
    for (int i = draw(8); i > 0; --i)
      picture.objects.push_back({draw(classes), double(draw(12000)), draw(6) == 0, false});
    for (int i = draw(14); i > 0; --i)
      picture.found.push_back({draw(classes), draw(12) / 12., double(draw(12000))}); // Many ties.
    picture.overlaps.assign(picture.found.size(), std::vector<double>(picture.objects.size()));
    for (auto& row : picture.overlaps)
      for (double& value : row) value = draw(3) == 0 ? 0 : draw(1000) / 1000.;
    precision.add(picture.found, picture.objects,
                  [&](std::size_t d, std::size_t g) { return picture.overlaps[d][g]; });
  }
  const PrecisionSummary summary = precision.summary();
  constexpr double ranges[4][2] = {{0, 1e10}, {0, 1024}, {1024, 9216}, {9216, 1e10}};
  for (int area = 0; area < 4; ++area) {
    double sum = 0, count = 0;
    for (int label = 0; label < classes; ++label)
      for (int step = 0; step < 10; ++step) {
        const double value =
            plain_precision(pictures, label, 0.5 + 0.05 * step, ranges[area][0], ranges[area][1], 100);
        if (!std::isnan(value)) sum += value, count += 1;
      }
    ASSERT_GT(count, 0);
    EXPECT_NEAR(summary.ap_by_area[static_cast<std::size_t>(area)], sum / count, 1e-9) << area;
  }
  EXPECT_GT(summary.ap50, 0.01);
}

TEST(Evaluation, GroundTruthAsAnswerScoresOne) {
  std::mt19937 random(3);
  const auto draw = [&](int most) { return static_cast<double>(random() % static_cast<unsigned>(most)); };
  for (const TaskKind kind : {TaskKind::detect, TaskKind::segment, TaskKind::pose, TaskKind::obb}) {
    Task task = task_of(kind);
    Evaluator evaluator(task);
    for (int n = 0; n < 5; ++n) {
      GroundTruth truth;
      for (int i = 0; i < 4; ++i) {
        GroundTruthObject one = object(i % 2, draw(100), draw(100), 20 + draw(60), 20 + draw(60));
        const double right = one.box[0] + one.box[2], bottom = one.box[1] + one.box[3];
        one.mask = tasks::runs_of_polygon(
            std::vector{one.box[0], one.box[1], right, one.box[1], right, bottom, one.box[0], bottom}, 200,
            200, {});
        one.rotated = {static_cast<float>(one.box[0] + one.box[2] / 2),
                       static_cast<float>(one.box[1] + one.box[3] / 2), static_cast<float>(one.box[2]),
                       static_cast<float>(one.box[3]), 0.3f};
        one.keypoints = {{one.box[0], one.box[1], 2}, {right, bottom, 1}, {right, one.box[1], 0}};
        truth.objects.push_back(one);
      }
      evaluator.add("x", result_of_ground_truth(truth, kind, 200, 200), truth);
    }
    const Evaluation evaluation = evaluator.finish();
    const char* name = kind == TaskKind::segment ? "mask_ap" : kind == TaskKind::pose ? "keypoint_ap" : "ap";
    EXPECT_NEAR(evaluation.metric(name), 1, 1e-9) << to_string(kind);
    EXPECT_NEAR(evaluation.metric("f1"), 1, near) << to_string(kind);
    EXPECT_TRUE(evaluation.worst.empty());
  }
}

TEST(Evaluation, RotatedBoxesAreMatchedByOverlap) {
  Evaluator evaluator(task_of(TaskKind::obb));
  GroundTruth truth;
  truth.objects = {object(0, 50, 50, 100, 20)};
  truth.objects[0].rotated = {100, 60, 100, 20, 0};
  // A quarter turn leaves an intersection of a fifth and a union of 9/5: IoU 1/9.
  TaskResult across = rotated_result(200, 200, {{100, 60, 100, 20, std::numbers::pi_v<float> / 2}});
  evaluator.add("a.png", across, truth);
  EXPECT_NEAR(evaluator.finish().metric("ap50"), 0, near);
  Evaluator same(task_of(TaskKind::obb));
  same.add("a.png", rotated_result(200, 200, {{100, 60, 20, 100, std::numbers::pi_v<float> / 2}}), truth);
  EXPECT_NEAR(same.finish().metric("ap50"), 1, 1e-9);
}

TEST(Evaluation, CornersBecomeARotatedBox) {
  const double c = std::cos(0.5), s = std::sin(0.5);
  std::vector<double> corners;
  for (const auto& [x, y] :
       {std::pair(-20., -5.), std::pair(20., -5.), std::pair(20., 5.), std::pair(-20., 5.)}) {
    corners.push_back(50 + x * c - y * s);
    corners.push_back(60 + x * s + y * c);
  }
  const auto box = tasks::rotated_box(corners);
  const float expected[] = {50, 60, 40, 10, 0.5f};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(box[i], expected[i], 1e-5);
}

TEST(Evaluation, ClassificationMetrics) {
  Evaluator evaluator(task_of(TaskKind::classify, {"cat", "dog", "emu", "fox", "gnu", "hen"}));
  const auto add = [&](const char* name, std::vector<std::int64_t> labels, std::vector<float> scores,
                       std::int64_t label) {
    GroundTruth truth;
    truth.label = label;
    evaluator.add(name, classes_result(8, 8, labels, scores), truth);
  };
  add("a", {0, 1, 2, 3, 4}, {.6f, .1f, .1f, .1f, .05f}, 0);
  add("b", {1, 0, 2, 3, 4}, {.5f, .2f, .1f, .1f, .05f}, 0);
  add("c", {1, 2, 3, 4, 5}, {.9f, .05f, .02f, .01f, .01f}, 0);
  add("d", {1, 2, 3, 4, 5}, {.9f, .05f, .02f, .01f, .01f}, 1);
  const Evaluation evaluation = evaluator.finish();
  EXPECT_NEAR(evaluation.metric("top1"), 0.5, near);
  EXPECT_NEAR(evaluation.metric("top5"), 0.75, near);
  EXPECT_NEAR(evaluation.metric("class_mean"), (1 / 3. + 1) / 2, near);
  ASSERT_EQ(evaluation.worst.size(), 2u);
  EXPECT_EQ(evaluation.worst[0].source, "c");
  EXPECT_EQ(evaluation.worst[0].caption, "is cat; said dog (0.90)");
  EXPECT_EQ(evaluation.worst[1].caption, "is cat; said dog (0.50), cat (0.20)");
  ASSERT_EQ(evaluation.classes.size(), 2u);
  EXPECT_EQ(evaluation.classes[0].remark, "taken for dog (2)");
  const auto json = nlohmann::json::parse(evaluation.to_json());
  EXPECT_EQ(json["metrics"]["top1"], 0.5);
  EXPECT_EQ(json["classes"][1]["label"], "dog");
  EXPECT_NEAR(json["classes"][1]["precision"].get<double>(), 1 / 3., near);
}

Tensor map_of(const std::vector<std::int32_t>& values, std::int64_t height, std::int64_t width) {
  Tensor tensor = Tensor::allocate(DType::i32, {height, width});
  std::ranges::copy(values, tensor.as<std::int32_t>().begin());
  return tensor;
}

TEST(Evaluation, SemanticMetrics) {
  Evaluator evaluator(task_of(TaskKind::semantic, {"sky", "sea", "sun"}));
  TaskResult result = result_of(TaskKind::semantic, 4, 2);
  result.classes = map_of({0, 0, 1, 1, 0, 2, 1, -1}, 2, 4);
  GroundTruth truth;
  truth.classes = map_of({0, 0, 0, 1, -1, 1, 1, 1}, 2, 4);
  evaluator.add("a", result, truth);
  const Evaluation evaluation = evaluator.finish();
  // sky 2 of 3, sea 2 of 5 (one as sun, one not seen, one too many), sun 0 of 1; the pixel -1 counts for
  // none.
  EXPECT_NEAR(evaluation.metric("miou"), (2 / 3. + 2 / 5. + 0) / 3, near);
  EXPECT_NEAR(evaluation.metric("pixel_accuracy"), 4 / 7., near);
  EXPECT_NEAR(evaluation.metric("class_accuracy"), (2 / 3. + 2 / 4.) / 2, near);
  EXPECT_EQ(evaluation.worst.at(0).caption, "mIoU 0.356, 57.1 % of its pixels are right");
}

TEST(Evaluation, UnsupportedTasksAreRefused) {
  EXPECT_THROW(Evaluator(task_of(TaskKind::depth)), Error);
  Evaluator evaluator(task_of(TaskKind::detect));
  EXPECT_THROW(evaluator.add("x", classes_result(8, 8, {0}, {1}), {}), Error);
  EXPECT_THROW(evaluator.finish().metric("ap51"), Error);
}

TEST(EvaluationRuns, PackingRoundTrips) {
  std::mt19937 random(5);
  for (int n = 0; n < 200; ++n) {
    const std::int32_t width = 1 + static_cast<std::int32_t>(random() % 60),
                       height = 1 + static_cast<std::int32_t>(random() % 60);
    tasks::Runs runs;
    auto left = static_cast<std::uint32_t>(width * height);
    if (random() % 2 == 0) runs.push_back(0);
    while (left > 0) {
      runs.push_back(1 + static_cast<std::uint32_t>(random()) % left);
      left -= runs.back();
    }
    EXPECT_EQ(tasks::unpacked_runs(packed_run_lengths(runs), width, height), runs);
    const Mask mask = tasks::mask_of_runs(runs, width, height);
    EXPECT_EQ(tasks::area_of(run_lengths(mask, width, height)), tasks::area_of(runs));
  }
  EXPECT_THROW(tasks::unpacked_runs("0", 3, 3), Error);
  EXPECT_THROW(tasks::unpacked_runs("oooooooooooooooooooo", 3, 3), Error);
  EXPECT_THROW(tasks::unpacked_runs("\x01", 3, 3), Error);
}

TEST(EvaluationRuns, SharedAreaIsExact) {
  const tasks::Runs a{2, 4, 3, 3}, b{0, 3, 1, 4, 4};
  // a: 2-5, 9-11; b: 0-2, 4-7.
  EXPECT_EQ(tasks::area_of(a), 7u);
  EXPECT_EQ(tasks::shared_area(a, b), 3u);
  EXPECT_EQ(tasks::area_of(tasks::joined(a, b)), 11u);
}

TEST(EvaluationRuns, APolygonCoversItsPixels) {
  const std::vector<double> square{2, 1, 6, 1, 6, 4, 2, 4};
  const tasks::Runs runs = tasks::runs_of_polygon(square, 10, 8, {});
  EXPECT_EQ(tasks::bounds_of(runs, 8), (std::array<double, 4>{2, 1, 4, 3}));
  EXPECT_EQ(tasks::area_of(runs), 12u);
  const std::vector<double> beyond{-5, -5, 20, -5, 20, 20, -5, 20};
  EXPECT_EQ(tasks::area_of(tasks::runs_of_polygon(beyond, 10, 8, {})), 80u);
  // Edges wholly beside the picture, which are not walked.
  const std::vector<double> right{2, 1, 40, 1, 90, -70, 60, 4, 2, 4};
  EXPECT_EQ(tasks::area_of(tasks::runs_of_polygon(right, 10, 8, {})), 24u);
  const std::vector<double> left{7, 1, -40, 1, -90, -70, -60, 4, 7, 4};
  EXPECT_EQ(tasks::area_of(tasks::runs_of_polygon(left, 10, 8, {})), 21u);
  const std::vector<double> long_edge{0, 0, 1e7, 0, 1e7, 1e7};
  Limits limits;
  limits.pixels = 1 << 20;
  EXPECT_THROW(tasks::runs_of_polygon(long_edge, 10, 8, limits), Error);
}

} // namespace
} // namespace lanner
