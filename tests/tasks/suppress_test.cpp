#include <numbers>

#include "expect_error.h"
#include "tasks/read/gaussian.h"
#include "tasks/read/overlap.h"
#include "tasks/task_run.h"

namespace lanner::test {
namespace {

constexpr std::int64_t count = 400;

Tensor many_boxes(Draw& draw) {
  Tensor boxes = Tensor::allocate(DType::f32, {count, 4});
  for (std::int64_t i = 0; i < count; ++i) {
    float* box = boxes.as<float>().data() + i * 4;
    box[0] = draw(0, 80);
    box[1] = draw(0, 80);
    box[2] = box[0] + draw(1, 40);
    box[3] = box[1] + draw(1, 40);
    if (i % 3 == 0) std::swap(box[0], box[2]); // Any order of corners.
  }
  return boxes;
}

TEST(Suppression, MatchesAPlainLoop) {
  Draw draw(1);
  const Tensor boxes = many_boxes(draw), scores = draw.tensor({count});
  Tensor labels = Tensor::allocate(DType::i64, {count});
  for (std::int64_t& label : labels.as<std::int64_t>()) label = static_cast<std::int64_t>(draw(0, 4));
  for (const bool agnostic : {false, true})
    for (const float threshold : {0.f, 0.3f, 0.7f, 1.f}) {
      std::vector<Plain> all;
      for (std::int64_t i = 0; i < count; ++i) {
        const float* b = boxes.as<float>().data() + i * 4;
        all.push_back(
            {{std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])},
             scores.as<float>()[static_cast<std::size_t>(i)],
             labels.as<std::int64_t>()[static_cast<std::size_t>(i)],
             i});
      }
      std::vector<std::int64_t> expected;
      for (const Plain& one : plain_suppression(all, threshold, agnostic)) expected.push_back(one.row);
      EXPECT_EQ(suppress_boxes(boxes, scores, agnostic ? Tensor() : labels, threshold), expected);
      expected.resize(std::min<std::size_t>(5, expected.size()));
      EXPECT_EQ(suppress_boxes(boxes, scores, agnostic ? Tensor() : labels, threshold, 5), expected);
    }
}

TEST(Suppression, FirstOfEqualScoresIsKept) {
  const Tensor boxes = Tensor::from<float>(std::vector<float>{0, 0, 2, 2, 0, 0, 2, 2, 5, 5, 6, 6}, {3, 4});
  const Tensor scores = Tensor::from<float>(std::vector<float>{0.5f, 0.5f, 0.5f}, {3});
  EXPECT_EQ(suppress_boxes(boxes, scores, {}, 0.5f), (std::vector<std::int64_t>{0, 2}));
}

TEST(Suppression, RotatedOverlapMatchesKnownPolygons) {
  // The intersection of a square and its copy rotated by an eighth is an octagon.
  const float eighth = std::numbers::pi_v<float> / 4;
  const double octagon = 2 * (std::sqrt(2.) - 1) * 4, union_area = 4 + 4 - octagon;
  EXPECT_NEAR(tasks::overlap(tasks::Turned{5, 5, 2, 2, 0}, tasks::Turned{5, 5, 2, 2, eighth}),
              octagon / union_area, 1e-5);
  EXPECT_NEAR(tasks::overlap(tasks::Turned{0, 0, 4, 2, 0}, tasks::Turned{0, 0, 2, 4, 2 * eighth}), 1, 1e-5);
  EXPECT_NEAR(tasks::overlap(tasks::Turned{0, 0, 4, 2, 0.3f}, tasks::Turned{0, 0, 4, 2, 0.3f}), 1, 1e-5);
  EXPECT_EQ(tasks::overlap(tasks::Turned{0, 0, 2, 2, 0.3f}, tasks::Turned{9, 9, 2, 2, 0.1f}), 0);
  EXPECT_EQ(tasks::overlap(tasks::Turned{0, 0, 0, 0, 0}, tasks::Turned{0, 0, 0, 0, 0}), 0);
}

/// IoU estimated from the points of a fine grid.
double counted_overlap(const float* a, const float* b) {
  const auto in = [](const float* box, double x, double y) {
    const double dx = x - box[0], dy = y - box[1], c = std::cos(box[4]), s = std::sin(box[4]);
    return std::abs(dx * c + dy * s) <= box[2] / 2 && std::abs(-dx * s + dy * c) <= box[3] / 2;
  };
  double both = 0, either = 0;
  for (double y = -15; y < 35; y += 0.1)
    for (double x = -15; x < 35; x += 0.1) {
      both += in(a, x, y) && in(b, x, y) ? 1 : 0;
      either += in(a, x, y) || in(b, x, y) ? 1 : 0;
    }
  return both / either;
}

TEST(Suppression, RotatedOverlapMatchesSampledPoints) {
  Draw draw(3);
  for (int i = 0; i < 12; ++i) {
    float a[5], b[5];
    for (float* box : {a, b}) {
      const float values[] = {draw(5, 15), draw(5, 15), draw(3, 15), draw(3, 15), draw(-4, 4)};
      std::copy_n(values, 5, box);
    }
    EXPECT_NEAR(tasks::overlap(tasks::Turned{a[0], a[1], a[2], a[3], a[4]},
                               tasks::Turned{b[0], b[1], b[2], b[3], b[4]}),
                counted_overlap(a, b), 0.01);
  }
}

TEST(Suppression, KeepsTheBestRotatedBoxes) {
  const Tensor boxes = Tensor::from<float>(
      std::vector<float>{5, 5, 8, 2, 0, 5, 5, 8, 2, 0.05f, 5, 5, 8, 2, 1.57f, 5, 5, 2, 8, 1.57f}, {4, 5});
  const Tensor scores = Tensor::from<float>(std::vector<float>{0.7f, 0.9f, 0.5f, 0.6f}, {4});
  EXPECT_EQ(suppress_boxes(boxes, scores, {}, 0.5f), (std::vector<std::int64_t>{1, 2}));
}

TEST(Suppression, RefusesInvalidTensors) {
  const Tensor boxes = Tensor::zeros(DType::f32, {2, 4}), scores = Tensor::zeros(DType::f32, {2});
  EXPECT_EQ(
      suppress_boxes(Tensor::zeros(DType::f32, {0, 4}), Tensor::zeros(DType::f32, {0}), {}, 0.5f).size(), 0U);
  EXPECT_EQ(suppress_boxes(boxes, scores, {}, 0.5f).size(), 2U); // Empty boxes do not overlap.
  LANNER_EXPECT_ERROR(suppress_boxes(Tensor::zeros(DType::f32, {2, 3}), scores, {}, 0.5f),
                      ErrorCode::invalid_argument, "f32[2, 3]");
  LANNER_EXPECT_ERROR(suppress_boxes(Tensor::zeros(DType::f16, {2, 4}), scores, {}, 0.5f),
                      ErrorCode::invalid_argument, "expected f32");
  LANNER_EXPECT_ERROR(suppress_boxes(boxes, Tensor::zeros(DType::f32, {3}), {}, 0.5f),
                      ErrorCode::invalid_argument, "2 boxes");
  LANNER_EXPECT_ERROR(suppress_boxes(boxes, scores, Tensor::zeros(DType::i32, {2}), 0.5f),
                      ErrorCode::invalid_argument, "expected i64");
  LANNER_EXPECT_ERROR(suppress_boxes(boxes, scores, {}, 1.5f), ErrorCode::invalid_argument, "0 to 1");
  LANNER_EXPECT_ERROR(suppress_boxes(boxes, scores, {}, NAN), ErrorCode::invalid_argument, "0 to 1");
  LANNER_EXPECT_ERROR(suppress_boxes(boxes, Tensor::from<float>(std::vector<float>{NAN, 1}, {2}), {}, 0.5f),
                      ErrorCode::bad_data, "not finite");
}

// By the formula of arXiv 2106.06072, computed in float64.
TEST(Gaussian, OverlapMatchesTheFormula) {
  const tasks::Turned box{50, 50, 40, 10, 0.5f};
  const auto of = [&](const tasks::Turned& other) {
    return tasks::gaussian_overlap(tasks::gaussian(box), tasks::gaussian(other));
  };
  EXPECT_NEAR(of(box), 1, 1e-3);
  EXPECT_NEAR(of({55, 52, 38, 12, 0.6f}), 0.760330, 1e-4);
  EXPECT_NEAR(of({50, 50, 40, 10, 2.0f}), 0.273025, 1e-4);
  EXPECT_NEAR(of({500, 50, 40, 10, 0.5f}), 0, 1e-3);
}

TEST(Gaussian, SuppressedBoxesSuppressOthers) {
  // Each overlaps only the next one by more than the threshold.
  tasks::SeenGaussians seen(0.5f);
  EXPECT_FALSE(seen.covers({50, 50, 40, 10, 0}));
  EXPECT_TRUE(seen.covers({60, 50, 40, 10, 0}));
  EXPECT_TRUE(seen.covers({70, 50, 40, 10, 0}));
  EXPECT_FALSE(seen.covers({200, 50, 40, 10, 0}));
}

} // namespace
} // namespace lanner::test
