// Heads other than YOLO's, against plain implementations of what their authors publish.

#include "expect_error.h"
#include "tasks/task_run.h"

namespace lanner::test {
namespace {

constexpr std::int32_t input_width = 80, input_height = 60, width = 40, height = 20;
constexpr std::int64_t rows = 30, classes = 4, batch = 2;
const Letterbox place(width, height, input_width, input_height);

/// Edges relative to the input, [batch, rows, 4].
Tensor shares(Draw& draw, bool centred) {
  Tensor boxes = Tensor::allocate(DType::f32, {batch, rows, 4});
  float* box = boxes.as<float>().data();
  for (std::int64_t i = 0; i < batch * rows; ++i, box += 4) {
    const float cx = draw(0.1f, 0.9f), cy = draw(0.1f, 0.9f), w = draw(0.1f, 0.4f), h = draw(0.1f, 0.4f);
    const float edges[] = {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2}, centre[] = {cx, cy, w, h};
    std::copy_n(centred ? centre : edges, 4, box);
  }
  return boxes;
}

const float* second(const Tensor& tensor) {
  return tensor.as<float>().data() + tensor.elements() / batch;
}

std::vector<double> plain_softmax(const float* v, std::int64_t count) {
  std::vector<double> result;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(std::exp(static_cast<double>(v[i])));
  for (const double value : result) sum += value;
  for (double& value : result) value /= sum;
  return result;
}

std::array<double, 4> from_centre_shares(const float* v) {
  return edges_of(v[0] * 80., v[1] * 60., v[2] * 80., v[3] * 60.);
}

TEST(Heads, BoxesAndScoresInEveryForm) {
  Draw draw(1);
  const Tensor boxes = shares(draw, false);
  Tensor scores = draw.tensor({batch, rows, classes});
  std::vector<Plain> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float *b = second(boxes) + i * 4, *s = second(scores) + i * classes;
    const std::int64_t best = std::max_element(s, s + classes) - s;
    if (s[best] >= 0.25) all.push_back({{b[0] * 80., b[1] * 60., b[2] * 80., b[3] * 60.}, s[best], best, i});
  }
  const auto expected = plain_suppression(all, 0.45);
  const tasks::Outputs outputs{{"boxes", boxes}, {"scores", scores}};
  Task task;
  LANNER_EXPECT_ERROR(read(task, outputs, input_of(80, 60), width, height, 1), ErrorCode::invalid_argument,
                      "box_form");
  task.box_form = BoxForm::xyxy;
  task.box_normalised = true;
  expect_detections(read(task, outputs, input_of(80, 60), width, height, 1), expected, place, width, height);
  // The same boxes in every form, [N, K, 1, 4], and in pixels.
  for (const BoxForm form : {BoxForm::xyxy, BoxForm::yxyx, BoxForm::xywh, BoxForm::cxcywh}) {
    SCOPED_TRACE(to_string(form));
    Tensor other = boxes.clone();
    float* v = other.as<float>().data();
    for (std::int64_t i = 0; i < batch * rows; ++i, v += 4) {
      const float l = v[0] * 80, t = v[1] * 60, r = v[2] * 80, b = v[3] * 60;
      const float forms[4][4] = {
          {l, t, r, b}, {t, l, b, r}, {l, t, r - l, b - t}, {(l + r) / 2, (t + b) / 2, r - l, b - t}};
      std::copy_n(forms[static_cast<std::size_t>(form)], 4, v);
    }
    task.box_form = form;
    task.box_normalised = false;
    const tasks::Outputs four{{"boxes", other.reshaped({batch, rows, 1, 4})}, {"confs", scores}};
    expect_detections(read(task, four, input_of(80, 60), width, height, 1), expected, place, width, height);
  }
}

TEST(Heads, DetrTakesTheBestClassExceptBackground) {
  Draw draw(2);
  const Tensor boxes = shares(draw, true), logits = draw.tensor({batch, rows, classes + 1}, -3, 3);
  std::vector<Plain> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto p = plain_softmax(second(logits) + i * (classes + 1), classes + 1);
    const std::int64_t best = std::max_element(p.begin(), p.begin() + classes) - p.begin();
    if (p[static_cast<std::size_t>(best)] >= 0.25)
      all.push_back({from_centre_shares(second(boxes) + i * 4), p[static_cast<std::size_t>(best)], best, i});
  }
  sort_by_score(all);
  expect_detections(read(task_of(TaskKind::detect, Head::detr), {{"pred_boxes", boxes}, {"logits", logits}},
                         input_of(80, 60), width, height, 1),
                    all, place, width, height);
}

TEST(Heads, RtDetrScoresEachClassIndependently) {
  Draw draw(3);
  const Tensor boxes = shares(draw, true), logits = draw.tensor({batch, rows, classes}, -4, 2);
  std::vector<Plain> all;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < classes; ++c)
      if (const double p = plain_sigmoid(second(logits)[i * classes + c]); p >= 0.25)
        all.push_back({from_centre_shares(second(boxes) + i * 4), p, c, i});
  sort_by_score(all);
  Task task = task_of(TaskKind::detect, Head::rt_detr);
  expect_detections(
      read(task, {{"pred_boxes", boxes}, {"logits", logits}}, input_of(80, 60), width, height, 1), all, place,
      width, height);
  // Both in one output, scores as probabilities.
  Tensor joined = Tensor::allocate(DType::f32, {batch, rows, 4 + classes});
  for (std::int64_t i = 0; i < batch * rows; ++i) {
    float* to = joined.as<float>().data() + i * (4 + classes);
    std::copy_n(boxes.as<float>().data() + i * 4, 4, to);
    for (std::int64_t c = 0; c < classes; ++c)
      to[4 + c] =
          static_cast<float>(plain_sigmoid(logits.as<float>()[static_cast<std::size_t>(i * classes + c)]));
  }
  expect_detections(read(task, {{"output0", joined}}, input_of(80, 60), width, height, 1), all, place, width,
                    height);
}

/// Anchors all over the input, as edges.
std::vector<float> some_anchors(Draw& draw) {
  std::vector<float> anchors;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float x = draw(0, 60), y = draw(0, 40);
    for (const float v : {x, y, x + draw(5, 30), y + draw(5, 30)}) anchors.push_back(v);
  }
  return anchors;
}

/// Clipped to an input of 80 x 60.
std::array<double, 4> from_anchor(const float* a, const float* d, const std::array<double, 4>& scales) {
  const double w = a[2] - a[0], h = a[3] - a[1];
  auto box = edges_of(a[0] + w / 2 + d[0] / scales[0] * w, a[1] + h / 2 + d[1] / scales[1] * h,
                      std::exp(d[2] / scales[2]) * w, std::exp(d[3] / scales[3]) * h);
  for (std::size_t i = 0; i < 4; ++i) box[i] = std::clamp(box[i], 0., i % 2 == 0 ? 80. : 60.);
  return box;
}

TEST(Heads, SsdAppliesOffsetsAndDropsTheBackground) {
  Draw draw(4);
  const Tensor offsets = draw.tensor({batch, rows, 4}, -2, 2),
               logits = draw.tensor({batch, rows, classes + 1}, -3, 3);
  Task task = task_of(TaskKind::detect, Head::ssd);
  const tasks::Outputs outputs{{"bbox_regression", offsets}, {"cls_logits", logits}};
  LANNER_EXPECT_ERROR(read(task, outputs, input_of(80, 60), width, height), ErrorCode::invalid_argument,
                      "anchors are missing");
  task.anchors = some_anchors(draw);
  std::vector<Plain> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto p = plain_softmax(second(logits) + i * (classes + 1), classes + 1);
    for (std::int64_t c = 1; c <= classes; ++c)
      if (p[static_cast<std::size_t>(c)] >= 0.25)
        all.push_back({from_anchor(task.anchors.data() + i * 4, second(offsets) + i * 4, {10, 10, 5, 5}),
                       p[static_cast<std::size_t>(c)], c - 1, i});
  }
  const auto expected = plain_suppression(all, 0.45);
  expect_detections(read(task, outputs, input_of(80, 60), width, height, 1), expected, place, width, height);
  // Rows first, and labels that begin with the background.
  Tensor swapped = offsets.clone();
  for (std::int64_t i = 0; i < batch * rows; ++i) {
    float* v = swapped.as<float>().data() + i * 4;
    std::swap(v[0], v[1]);
    std::swap(v[2], v[3]);
  }
  task.box_form = BoxForm::yxyx;
  task.labels = {"__background__", "a", "b", "c", "d"};
  auto named = expected;
  for (Plain& one : named) ++one.label;
  expect_detections(
      read(task, {{"bbox_regression", swapped}, {"cls_logits", logits}}, input_of(80, 60), width, height, 1),
      named, place, width, height);
  task.anchors.resize(8);
  LANNER_EXPECT_ERROR(read(task, outputs, input_of(80, 60), width, height), ErrorCode::invalid_argument,
                      "8 numbers of anchors, expected 120");
}

TEST(Heads, RetinaNetAnchorsMayBeAnOutput) {
  Draw draw(5);
  const Tensor offsets = draw.tensor({batch, rows, 4}, -1, 1),
               logits = draw.tensor({batch, rows, classes}, -4, 2);
  const std::vector<float> anchors = some_anchors(draw);
  std::vector<Plain> all;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < classes; ++c)
      if (const double p = plain_sigmoid(second(logits)[i * classes + c]); p >= 0.25)
        all.push_back({from_anchor(anchors.data() + i * 4, second(offsets) + i * 4, {1, 1, 1, 1}), p, c, i});
  const tasks::Outputs outputs{{"regression", offsets},
                               {"classification", logits},
                               {"anchors", Tensor::from<float>(anchors, {rows, 4})}};
  expect_detections(
      read(task_of(TaskKind::detect, Head::retinanet), outputs, input_of(80, 60), width, height, 1),
      plain_suppression(all, 0.45), place, width, height);
  // SSD could read it as well, so a choice is required.
  LANNER_EXPECT_ERROR(read({}, outputs, input_of(80, 60), width, height, 1), ErrorCode::invalid_argument,
                      "detect by head ssd (3 classes), or detect by head retinanet (4 classes)");
}

TEST(Heads, TorchvisionListsAreRead) {
  const std::vector<float> boxes{10, 10, 40, 30, 0, 0, 80, 60, 20, 20, 30, 50}, scores{0.5f, 0.9f, 0.1f};
  const std::vector<std::int64_t> labels{3, 1, 2};
  tasks::Outputs outputs{{"a", Tensor::from<float>(boxes, {3, 4})},
                         {"b", Tensor::from<std::int64_t>(labels, {3})},
                         {"c", Tensor::from<float>(scores, {3})}};
  const std::vector<Plain> expected{{{0, 0, 80, 60}, 0.9, 0, 1}, {{10, 10, 40, 30}, 0.5, 2, 0}};
  expect_detections(read({}, outputs, input_of(80, 60), width, height), expected, place, width, height);
  // Masks are probabilities over the input.
  Tensor masks = Tensor::zeros(DType::f32, {3, 1, 60, 80});
  for (std::size_t y = 15; y < 25; ++y)
    for (std::size_t x = 20; x < 36; ++x) masks.as<float>()[y * 80 + x] = 0.9f;
  outputs["d"] = masks;
  const TaskResult result = read({}, outputs, input_of(80, 60), width, height);
  EXPECT_EQ(result.kind, TaskKind::segment);
  const Tensor full = result.full_masks();
  const auto set = [&](std::size_t i, std::size_t x, std::size_t y) {
    return full.as<std::uint8_t>()[(i * 20 + y) * 40 + x];
  };
  // The picture lies at 0, 10 of the input, twice as large: the mask is 10..17 across, 2.5..7.4 down.
  EXPECT_EQ(set(1, 10, 3), 1);
  EXPECT_EQ(set(1, 17, 6), 1);
  EXPECT_EQ(set(1, 9, 4), 0);
  EXPECT_EQ(set(1, 18, 4), 0);
  EXPECT_EQ(set(1, 12, 8), 0);
  EXPECT_EQ(set(0, 12, 5), 0);
  LANNER_EXPECT_ERROR(read({}, outputs, input_of(80, 60), width, height, 1), ErrorCode::invalid_argument,
                      "no element 1");
  outputs["d"] = Tensor::zeros(DType::f32, {3, 1, 28, 28});
  LANNER_EXPECT_ERROR(read({}, outputs, input_of(80, 60), width, height), ErrorCode::invalid_argument,
                      "expected the input's size");
  outputs.at("b") = Tensor::from<std::int64_t>(std::vector<std::int64_t>{3, 0, 2}, {3});
  LANNER_EXPECT_ERROR(read({}, outputs, input_of(80, 60), width, height), ErrorCode::bad_data,
                      "row 1 is of the class 0, expected 1 or more; give first_class 0");
}

TEST(Heads, TorchvisionKeyPointsAreRead) {
  tasks::Outputs outputs{
      {"boxes", Tensor::from<float>(std::vector<float>{10, 10, 40, 30}, {1, 4})},
      {"labels", Tensor::from<std::int64_t>(std::vector<std::int64_t>{1}, {1})},
      {"scores", Tensor::from<float>(std::vector<float>{0.9f}, {1})},
      {"keypoints", Tensor::from<float>(std::vector<float>{20, 20, 1, 30, 24, 0.5f}, {1, 2, 3})}};
  const TaskResult result = read({}, outputs, input_of(80, 60), width, height);
  EXPECT_EQ(result.kind, TaskKind::pose);
  const std::vector<float> expected{10, 5, 1, 15, 7, 0.5f};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(result.keypoints.as<float>()[i], expected[i]);
}

TEST(Heads, TensorflowListsAreRead) {
  Draw draw(6);
  Tensor boxes = shares(draw, false);
  Tensor scores = draw.tensor({batch, rows}), labels = Tensor::allocate(DType::f32, {batch, rows});
  for (float& label : labels.as<float>()) label = std::floor(draw(1, 5));
  const Tensor count = Tensor::from<float>(std::vector<float>{30, 20}, {batch});
  std::vector<Plain> all;
  for (std::int64_t i = 0; i < 20; ++i) {
    const float* b = second(boxes) + i * 4;
    if (const float s = second(scores)[i]; s >= 0.25f)
      all.push_back({{b[1] * 80., b[0] * 60., b[3] * 80., b[2] * 60.},
                     s,
                     static_cast<std::int64_t>(second(labels)[i]) - 1,
                     i});
  }
  sort_by_score(all);
  const tasks::Outputs outputs{{"detection_boxes:0", boxes},
                               {"detection_scores:0", scores},
                               {"detection_classes:0", labels},
                               {"num_detections:0", count},
                               {"raw_detection_boxes:0", boxes}};
  expect_detections(read({}, outputs, input_of(80, 60), width, height, 1), all, place, width, height);
  const tasks::Outputs lite{{"TFLite_Detection_PostProcess", boxes},
                            {"TFLite_Detection_PostProcess:1", labels},
                            {"TFLite_Detection_PostProcess:2", scores},
                            {"TFLite_Detection_PostProcess:3", count}};
  for (Plain& one : all) ++one.label;
  expect_detections(read({}, lite, input_of(80, 60), width, height, 1), all, place, width, height);
  auto many = outputs;
  many["num_detections:0"] = Tensor::from<float>(std::vector<float>{31, 1e9f}, {batch});
  LANNER_EXPECT_ERROR(read({}, many, input_of(80, 60), width, height), ErrorCode::bad_data,
                      "expected 0 to 30");
}

TEST(Heads, TensorflowMasksCoverTheirBox) {
  Tensor masks = Tensor::zeros(DType::f32, {1, 1, 4, 4}); // The left half.
  for (std::size_t i = 0; i < 16; ++i) masks.as<float>()[i] = i % 4 < 2 ? 0.9f : 0.f;
  const tasks::Outputs outputs{
      {"detection_boxes", Tensor::from<float>(std::vector<float>{10.f / 60, 0, 50.f / 60, 1}, {1, 1, 4})},
      {"detection_scores", Tensor::from<float>(std::vector<float>{0.9f}, {1, 1})},
      {"detection_classes", Tensor::from<float>(std::vector<float>{1}, {1, 1})},
      {"detection_masks", masks}};
  const Tensor full = read({}, outputs, input_of(80, 60), width, height).full_masks();
  for (std::size_t y : {0, 10, 19})
    for (std::size_t x = 0; x < 40; ++x)
      if (x < 18 || x > 21) {
        EXPECT_EQ(full.as<std::uint8_t>()[y * 40 + x], x < 20 ? 1 : 0) << x;
      }
}

TEST(Heads, EfficientNmsIsRead) {
  const tasks::Outputs outputs{
      {"num_dets", Tensor::from<std::int32_t>(std::vector<std::int32_t>{2}, {1, 1})},
      {"det_boxes",
       Tensor::from<float>(std::vector<float>{0, 10, 20, 30, 10, 10, 80, 50, 0, 0, 80, 60}, {1, 3, 4})},
      {"det_scores", Tensor::from<float>(std::vector<float>{0.6f, 0.7f, 0.99f}, {1, 3})},
      {"det_classes", Tensor::from<std::int32_t>(std::vector<std::int32_t>{0, 3, 1}, {1, 3})}};
  const std::vector<Plain> expected{{{10, 10, 80, 50}, 0.7, 3, 1}, {{0, 10, 20, 30}, 0.6, 0, 0}};
  expect_detections(read({}, outputs, input_of(80, 60), width, height), expected, place, width, height);
}

TEST(Heads, CenterNetPeaksAreRead) {
  Draw draw(7);
  constexpr std::int64_t h = 15, w = 20;
  const Tensor heat = draw.tensor({batch, classes, h, w}, -6, 1.5),
               sizes = draw.tensor({batch, 2, h, w}, 1, 6), offsets = draw.tensor({batch, 2, h, w});
  std::vector<Plain> all;
  for (std::int64_t c = 0; c < classes; ++c)
    for (std::int64_t y = 0; y < h; ++y)
      for (std::int64_t x = 0; x < w; ++x) {
        const auto at = [&](std::int64_t i, std::int64_t j) { return second(heat)[(c * h + j) * w + i]; };
        bool peak = true;
        for (std::int64_t j = std::max<std::int64_t>(0, y - 1); j <= std::min(h - 1, y + 1); ++j)
          for (std::int64_t i = std::max<std::int64_t>(0, x - 1); i <= std::min(w - 1, x + 1); ++i)
            peak &= at(i, j) <= at(x, y);
        const double p = plain_sigmoid(at(x, y));
        if (!peak || p < 0.25) continue;
        const std::int64_t cell = y * w + x;
        const float *o = second(offsets), *s = second(sizes);
        all.push_back(
            {edges_of((static_cast<double>(x) + o[cell]) * 4, (static_cast<double>(y) + o[h * w + cell]) * 4,
                      s[cell] * 4., s[h * w + cell] * 4.),
             p, c, 0});
      }
  sort_by_score(all);
  expect_detections(
      read({}, {{"hm", heat}, {"wh", sizes}, {"reg", offsets}}, input_of(80, 60), width, height, 1), all,
      place, width, height);
}

} // namespace
} // namespace lanner::test
