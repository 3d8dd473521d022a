// YOLO's heads against a plain implementation of what their authors publish.

#include "expect_error.h"
#include "tasks/task_run.h"

namespace lanner::test {
namespace {

constexpr std::int32_t side = 96;                            // 12 x 12 + 6 x 6 + 3 x 3 cells.
constexpr std::int64_t places = 189, classes = 5, batch = 2; // Of them.
constexpr std::int32_t width = 48, height = 36;

/// Boxes all over the input, few scores above the threshold: [N, cells, channels].
Tensor predictions(std::uint32_t seed, std::int64_t rows, std::int64_t channels, std::int64_t fixed) {
  Draw draw(seed);
  Tensor tensor = draw.tensor({batch, rows, channels});
  float* row = tensor.as<float>().data();
  for (std::int64_t i = 0; i < batch * rows; ++i, row += channels) {
    row[0] = draw(0, side);
    row[1] = draw(0, side);
    row[2] = draw(4, 40);
    row[3] = draw(4, 40);
    for (std::int64_t c = 4; c < channels; ++c) row[c] = std::pow(row[c], fixed == 4 ? 6.f : 2.f);
  }
  return tensor;
}

Tensor turned(const Tensor& rows) { // [N, A, C] to [N, C, A].
  const std::int64_t a = rows.shape()[1], c = rows.shape()[2];
  Tensor columns = Tensor::allocate(DType::f32, {batch, c, a});
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t k = 0; k < c; ++k)
        columns.as<float>()[static_cast<std::size_t>((n * c + k) * a + i)] =
            rows.as<float>()[static_cast<std::size_t>((n * a + i) * c + k)];
  return columns;
}

/// Element 1.
const float* rows_of(const Tensor& tensor) {
  return tensor.as<float>().data() + tensor.elements() / batch;
}

std::vector<Plain> plain_v8(const Tensor& rows, double threshold) {
  std::vector<Plain> all;
  const float* row = rows_of(rows);
  for (std::int64_t i = 0; i < rows.shape()[1]; ++i, row += rows.shape()[2]) {
    const std::int64_t best = std::max_element(row + 4, row + 4 + classes) - (row + 4);
    if (row[4 + best] >= threshold)
      all.push_back({edges_of(row[0], row[1], row[2], row[3]), row[4 + best], best, i});
  }
  return all;
}

class YoloV8 : public testing::TestWithParam<DType> {};

TEST_P(YoloV8, MatchesAPlainImplementation) {
  const Tensor rows = rounded(predictions(1, places, 4 + classes, 4), GetParam());
  const auto expected = plain_suppression(plain_v8(rows, 0.25), 0.45);
  const Letterbox place(width, height, side, side);
  for (const bool columns : {true, false}) {
    SCOPED_TRACE(columns ? "columns" : "rows");
    Task task = task_of(TaskKind::detect, Head::yolo_v8);
    const Tensor output = as_type(columns ? turned(rows) : rows, GetParam());
    expect_detections(read(task, {{"output0", output}}, input_of(side, side), width, height, 1), expected,
                      place, width, height);
  }
}
INSTANTIATE_TEST_SUITE_P(Types, YoloV8, testing::Values(DType::f32, DType::f16, DType::bf16, DType::f64),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(Yolo, ThresholdsAndLimitComeFromTheTask) {
  const Tensor rows = predictions(2, places, 4 + classes, 4);
  Task task = task_of(TaskKind::detect, Head::yolo_v8);
  task.score_threshold = 0.7f;
  task.iou_threshold = 0.1f;
  task.class_agnostic = true;
  task.max_detections = 4;
  auto expected = plain_suppression(plain_v8(rows, 0.7), 0.1, true);
  ASSERT_GT(expected.size(), 4U);
  expected.resize(4);
  expect_detections(read(task, {{"o", turned(rows)}}, input_of(side, side), width, height, 1), expected,
                    Letterbox(width, height, side, side), width, height);
}

TEST(Yolo, ActivationAndNormalisedBoxesAreApplied) {
  const Tensor rows = predictions(3, places, 4 + classes, 4);
  auto expected = plain_suppression(plain_v8(rows, 0.25), 0.45);
  Tensor other = rows.clone();
  float* row = other.as<float>().data();
  for (std::int64_t i = 0; i < batch * places; ++i, row += 4 + classes) {
    for (int k = 0; k < 4; ++k) row[k] /= side;
    for (int k = 4; k < 4 + classes; ++k) row[k] = std::log(row[k] / (1 - row[k]));
    for (int k = 4; k < 4 + classes; ++k) row[k] = std::clamp(row[k], -50.f, 50.f);
  }
  Task task = task_of(TaskKind::detect, Head::yolo_v8);
  task.activation = Activation::sigmoid;
  task.box_normalised = true;
  expect_detections(read(task, {{"o", turned(other)}}, input_of(side, side), width, height, 1), expected,
                    Letterbox(width, height, side, side), width, height);
}

TEST(Yolo, V5MultipliesObjectness) {
  const Tensor rows = predictions(4, 3 * places, 5 + classes, 5);
  std::vector<Plain> all;
  const float* row = rows_of(rows);
  for (std::int64_t i = 0; i < 3 * places; ++i, row += 5 + classes) {
    const std::int64_t best = std::max_element(row + 5, row + 5 + classes) - (row + 5);
    const double score = static_cast<double>(row[4]) * row[5 + best];
    if (score >= 0.25) all.push_back({edges_of(row[0], row[1], row[2], row[3]), score, best, i});
  }
  const auto result =
      read(task_of(TaskKind::detect, Head::yolo_v5), {{"o", rows}}, input_of(side, side), width, height, 1);
  expect_detections(result, plain_suppression(all, 0.45), Letterbox(width, height, side, side), width,
                    height);
  // The same without naming the head.
  EXPECT_EQ(read({}, {{"o", rows}}, input_of(side, side), width, height, 1).count(), result.count());
}

TEST(Yolo, V5RawIsDecodedByAnchorsAndGrid) {
  Draw draw(5);
  const std::vector<float> anchors{10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119};
  const std::int64_t sides[] = {12, 6};
  tasks::Outputs outputs;
  std::vector<Plain> all;
  for (std::size_t level = 0; level < 2; ++level) {
    const std::int64_t cells = sides[level], stride = side / cells;
    const Tensor tensor = draw.tensor({batch, 3, cells, cells, 5 + classes}, -5, 1.5);
    const float* v = rows_of(tensor);
    for (std::int64_t a = 0; a < 3; ++a)
      for (std::int64_t y = 0; y < cells; ++y)
        for (std::int64_t x = 0; x < cells; ++x, v += 5 + classes) {
          const std::int64_t best = std::max_element(v + 5, v + 5 + classes) - (v + 5);
          const double score = plain_sigmoid(v[4]) * plain_sigmoid(v[5 + best]);
          const float* anchor = anchors.data() + (level * 3 + static_cast<std::size_t>(a)) * 2;
          if (score >= 0.25)
            all.push_back(
                {edges_of(
                     (2 * plain_sigmoid(v[0]) - 0.5 + static_cast<double>(x)) * static_cast<double>(stride),
                     (2 * plain_sigmoid(v[1]) - 0.5 + static_cast<double>(y)) * static_cast<double>(stride),
                     std::pow(2 * plain_sigmoid(v[2]), 2) * anchor[0],
                     std::pow(2 * plain_sigmoid(v[3]), 2) * anchor[1]),
                 score, best, 0});
        }
    outputs[level == 0 ? "fine" : "coarse"] = tensor;
  }
  Task task = task_of(TaskKind::detect, Head::yolo_v5_raw);
  LANNER_EXPECT_ERROR(read(task, outputs, input_of(side, side), width, height, 1),
                      ErrorCode::invalid_argument, "anchors are missing");
  task.anchors = anchors;
  expect_detections(read(task, outputs, input_of(side, side), width, height, 1), plain_suppression(all, 0.45),
                    Letterbox(width, height, side, side), width, height);
  task.anchors.resize(10);
  LANNER_EXPECT_ERROR(read(task, outputs, input_of(side, side), width, height, 1),
                      ErrorCode::invalid_argument, "level 1 needs more");
}

TEST(Yolo, V10IsNotSuppressedAgain) {
  Draw draw(6);
  Tensor rows = draw.tensor({batch, 40, 6});
  std::vector<Plain> all;
  float* row = rows.as<float>().data();
  for (std::int64_t i = 0; i < batch * 40; ++i, row += 6) {
    const float x = draw(0, 60), y = draw(0, 60);
    const float values[] = {x, y, x + draw(5, 30), y + draw(5, 30), draw(), std::floor(draw(0, classes))};
    std::copy(std::begin(values), std::end(values), row);
    if (i >= 40 && row[4] >= 0.25)
      all.push_back({{row[0], row[1], row[2], row[3]}, row[4], static_cast<std::int64_t>(row[5]), i - 40});
  }
  sort_by_score(all);
  expect_detections(read({}, {{"o", rows}}, input_of(side, side), width, height, 1), all,
                    Letterbox(width, height, side, side), width, height);
  rows.as<float>()[40 * 6 + 4] = 0.9f;
  rows.as<float>()[40 * 6 + 5] = -3;
  LANNER_EXPECT_ERROR(read({}, {{"o", rows}}, input_of(side, side), width, height, 1), ErrorCode::bad_data,
                      "class -3");
}

TEST(Yolo, KeyPointsAreInPictureCoordinates) {
  constexpr std::int64_t points = 3;
  for (const int values : {2, 3}) {
    SCOPED_TRACE(values);
    const std::int64_t channels = 4 + classes + points * values;
    const Tensor rows = predictions(7, places, channels, 4);
    Task task = task_of(TaskKind::pose, Head::yolo_v8);
    task.keypoints = points;
    task.keypoint_values = values;
    const Letterbox place(width, height, side, side);
    const auto expected = seen(plain_suppression(plain_v8(rows, 0.25), 0.45), place, width, height);
    const TaskResult result = read(task, {{"o", turned(rows)}}, input_of(side, side), width, height, 1);
    expect_detections(result, expected, place, width, height);
    ASSERT_EQ(result.keypoints.shape(), (Shape{result.count(), points, 3}));
    std::size_t at = 0;
    for (const Plain& one : expected) {
      const float* from = rows_of(rows) + one.row * channels + 4 + classes;
      for (std::int64_t p = 0; p < points; ++p, from += values) {
        EXPECT_NEAR(result.keypoints.as<float>()[at++], (from[0] - place.left) / place.scale, 1e-3);
        EXPECT_NEAR(result.keypoints.as<float>()[at++], (from[1] - place.top) / place.scale, 1e-3);
        EXPECT_EQ(result.keypoints.as<float>()[at++], values == 3 ? from[2] : 1.f);
      }
    }
  }
}

TEST(Yolo, MasksArePrototypesTimesCoefficients) {
  constexpr std::int64_t coefficients = 4, map = side / 4;
  Draw draw(8);
  const std::int64_t channels = 4 + classes + coefficients;
  Tensor rows = predictions(8, places, channels, 4);
  for (std::int64_t i = 0; i < batch * places; ++i)
    for (std::int64_t k = 0; k < coefficients; ++k)
      rows.as<float>()[static_cast<std::size_t>(i * channels + 4 + classes + k)] = draw(-1, 1);
  const Tensor prototypes = draw.tensor({batch, coefficients, map, map}, -1, 1);
  const TaskResult result =
      read({}, {{"o", turned(rows)}, {"p", prototypes}}, input_of(side, side), width, height, 1);
  EXPECT_EQ(result.kind, TaskKind::segment);
  const Letterbox place(width, height, side, side);
  const auto expected = seen(plain_suppression(plain_v8(rows, 0.25), 0.45), place, width, height);
  expect_detections(result, expected, place, width, height);
  ASSERT_EQ(result.masks.size(), expected.size());
  const Tensor full = result.full_masks();
  ASSERT_EQ(full.shape(), (Shape{result.count(), height, width}));
  std::int64_t wrong = 0, set = 0;
  const float* const proto = rows_of(prototypes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float* weights = rows_of(rows) + expected[i].row * channels + 4 + classes;
    for (std::int32_t y = 0; y < height; ++y)
      for (std::int32_t x = 0; x < width; ++x) {
        const double tx = (x + 0.5) * place.scale + place.left, ty = (y + 0.5) * place.scale + place.top;
        const double u = std::clamp(tx / 4 - 0.5, 0., map - 1.), v = std::clamp(ty / 4 - 0.5, 0., map - 1.);
        const auto logit = [&](std::int64_t column, std::int64_t line) {
          double sum = 0;
          for (std::int64_t k = 0; k < coefficients; ++k)
            sum += static_cast<double>(weights[k]) *
                   proto[(k * map + std::min(line, map - 1)) * map + std::min(column, map - 1)];
          return sum;
        };
        const auto c = static_cast<std::int64_t>(u), l = static_cast<std::int64_t>(v);
        const double fu = u - static_cast<double>(c), fv = v - static_cast<double>(l);
        const double value = (logit(c, l) * (1 - fu) + logit(c + 1, l) * fu) * (1 - fv) +
                             (logit(c, l + 1) * (1 - fu) + logit(c + 1, l + 1) * fu) * fv;
        const auto& box = expected[i].box;
        const bool in_box = tx >= box[0] && tx < box[2] && ty >= box[1] && ty < box[3];
        const bool said = full.as<std::uint8_t>()[(i * height + static_cast<std::size_t>(y)) * width +
                                                  static_cast<std::size_t>(x)] == 1;
        set += said ? 1 : 0;
        if (std::abs(value) > 1e-4 && said != (in_box && value > 0)) ++wrong;
      }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(set, 100);
}

TEST(Yolo, RotatedBoxesKeepTheirAngleInThePicture) {
  const std::int64_t channels = 4 + classes + 1;
  const Tensor rows = predictions(9, places, channels, 4);
  Task task = task_of(TaskKind::obb, Head::yolo_v8);
  task.iou_threshold = 1; // Suppression of rotated boxes is tested in suppress_test.cpp.
  const TaskResult result = read(task, {{"o", turned(rows)}}, input_of(side, side), width, height, 1);
  auto expected = plain_v8(rows, 0.25);
  sort_by_score(expected);
  const Letterbox place(width, height, side, side);
  std::size_t at = 0;
  ASSERT_GT(result.count(), 3);
  for (const Plain& one : expected) {
    const float* row = rows_of(rows) + one.row * channels;
    const double cx = (row[0] - place.left) / place.scale, cy = (row[1] - place.top) / place.scale,
                 w = row[2] / place.scale, h = row[3] / place.scale, angle = row[4 + classes];
    double left = 1e9, top = 1e9, right = -1e9, bottom = -1e9;
    for (const auto& [sx, sy] : {std::pair{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}) {
      const double x = cx + sx * w / 2 * std::cos(angle) - sy * h / 2 * std::sin(angle);
      const double y = cy + sx * w / 2 * std::sin(angle) + sy * h / 2 * std::cos(angle);
      left = std::min(left, x), right = std::max(right, x), top = std::min(top, y),
      bottom = std::max(bottom, y);
    }
    if (right <= 0 || left >= width || bottom <= 0 || top >= height) continue;
    ASSERT_LT(at, static_cast<std::size_t>(result.count()));
    const double wanted[] = {cx, cy, w, h, angle};
    for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(result.rotated.as<float>()[at * 5 + k], wanted[k], 1e-3);
    EXPECT_NEAR(result.boxes.as<float>()[at * 4], std::clamp(left, 0., 48.), 1e-3);
    EXPECT_NEAR(result.boxes.as<float>()[at * 4 + 3], std::clamp(bottom, 0., 36.), 1e-3);
    ++at;
  }
  EXPECT_EQ(static_cast<std::int64_t>(at), result.count());
}

TEST(Yolo, EndToEndHeadsHaveExtras) {
  Draw draw(10);
  Tensor rows = draw.tensor({1, 3, 7}); // Centre, size, score, class, angle.
  const float values[] = {48, 48, 20, 10, 0.9f, 2, 0.5f, 20, 60, 8, 8, 0.8f, 1, 0, 1, 1, 1, 1, 0.1f, 0, 0};
  std::copy(std::begin(values), std::end(values), rows.as<float>().begin());
  const TaskResult result =
      read(task_of(TaskKind::obb, Head::yolo_v10), {{"o", rows}}, input_of(side, side), side, side);
  ASSERT_EQ(result.count(), 2);
  EXPECT_FLOAT_EQ(result.rotated.as<float>()[0], 48);
  EXPECT_FLOAT_EQ(result.rotated.as<float>()[2], 20);
  EXPECT_FLOAT_EQ(result.rotated.as<float>()[4], 0.5f);
  Task pose = task_of(TaskKind::pose, Head::yolo_v10);
  Tensor points = Tensor::zeros(DType::f32, {1, 1, 6 + 6});
  const float row[] = {10, 10, 40, 40, 0.9f, 0, 20, 21, 0.5f, 30, 31, 0.25f};
  std::copy(std::begin(row), std::end(row), points.as<float>().begin());
  const TaskResult posed = read(pose, {{"o", points}}, input_of(side, side), side, side);
  ASSERT_EQ(posed.keypoints.shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(posed.keypoints.as<float>()[4], 31);
}

TEST(Yolo, NonFiniteValuesAreRefused) {
  const float bad[] = {NAN, INFINITY, -INFINITY};
  for (const float value : bad) {
    Tensor rows = predictions(11, places, 4 + classes, 4);
    rows.as<float>()[static_cast<std::size_t>((places + 77) * (4 + classes) + 6)] = value;
    const Task task = task_of(TaskKind::detect, Head::yolo_v8);
    for (const Tensor& output : {rows, turned(rows)})
      LANNER_EXPECT_ERROR(read(task, {{"o", output}}, input_of(side, side), width, height, 1),
                          ErrorCode::bad_data, "row 77 of the scores");
    EXPECT_NO_THROW(read(task, {{"o", rows}}, input_of(side, side), width, height, 0));
  }
  Tensor boxes = predictions(12, places, 4 + classes, 4);
  boxes.as<float>()[1] = NAN;
  boxes.as<float>()[4] = 0.9f;
  LANNER_EXPECT_ERROR(
      read(task_of(TaskKind::detect, Head::yolo_v8), {{"o", boxes}}, input_of(side, side), width, height),
      ErrorCode::bad_data, "box 0 has a number");
}

TEST(Yolo, ShapesThatDoNotFitTheHeadAreRefused) {
  const Preprocess spec = input_of(side, side);
  const Tensor good = Tensor::zeros(DType::f32, {1, 9, places});
  const Task task = resolved(task_of(TaskKind::detect, Head::yolo_v8), {{"o", good}}, spec).task;
  const auto read_as = [&](const Shape& shape, std::int64_t element = 0) {
    return tasks::read_result(task, spec, {{"o", Tensor::zeros(DType::f32, shape)}}, width, height, element,
                              {});
  };
  EXPECT_EQ(read_as({1, 9, places}).count(), 0);
  LANNER_EXPECT_ERROR(read_as({1, 4, places}), ErrorCode::invalid_argument, "expected more than 4");
  LANNER_EXPECT_ERROR(read_as({9}), ErrorCode::invalid_argument, "expected 3 dims");
  LANNER_EXPECT_ERROR(read_as({1, 9, places}, 1), ErrorCode::invalid_argument, "no element 1");
  LANNER_EXPECT_ERROR(read_as({1, 9, places}, -1), ErrorCode::invalid_argument, "no element -1");
  LANNER_EXPECT_ERROR(read_as({0, 9, places}), ErrorCode::invalid_argument, "no element 0");
  EXPECT_EQ(read_as({1, 9, 0}).count(), 0);
  LANNER_EXPECT_ERROR(tasks::read_result(task, spec, {}, width, height, 0, {}), ErrorCode::invalid_argument,
                      "was not given");
  LANNER_EXPECT_ERROR(tasks::read_result(task, spec, {{"o", good}}, 0, 4, 0, {}), ErrorCode::invalid_argument,
                      "0 x 4");
}

} // namespace
} // namespace lanner::test
