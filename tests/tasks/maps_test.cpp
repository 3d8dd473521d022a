// Classes of pictures and of pixels, depths, images and features, against plain implementations.

#include "expect_error.h"
#include "tasks/task_run.h"

namespace lanner::test {
namespace {

Task kind_of(TaskKind kind) {
  Task task;
  task.kind = kind;
  return task;
}

/// Bilinear interpolation with half-pixel centres; `at(column, row)` repeats the border.
template<typename At>
double plain_blend(double u, double v, std::int64_t columns, std::int64_t rows, At at) {
  u = std::clamp(u, 0., static_cast<double>(columns - 1));
  v = std::clamp(v, 0., static_cast<double>(rows - 1));
  const auto c = static_cast<std::int64_t>(u), r = static_cast<std::int64_t>(v);
  const auto right = std::min(c + 1, columns - 1), below = std::min(r + 1, rows - 1);
  const double x = u - static_cast<double>(c), y = v - static_cast<double>(r);
  return (at(c, r) * (1 - x) + at(right, r) * x) * (1 - y) +
         (at(c, below) * (1 - x) + at(right, below) * x) * y;
}

TEST(Classes, TheBestComeFirst) {
  const Tensor logits = Tensor::from<float>(std::vector<float>{9, 9, 9, 9, 1, 3, 2, 3}, {2, 4, 1, 1});
  Task task;
  task.top = 3;
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32}) {
    const TaskResult result = read(task, {{"o", as_type(logits, type)}}, input_of(8, 8), 5, 7, 1);
    EXPECT_EQ(result.kind, TaskKind::classify);
    const auto labels = result.labels.as<std::int64_t>();
    EXPECT_EQ(std::vector(labels.begin(), labels.end()),
              (std::vector<std::int64_t>{1, 3, 2})); // The first of equal ones.
    const double sum = std::exp(1.) + 2 * std::exp(3.) + std::exp(2.);
    EXPECT_NEAR(result.scores.as<float>()[0], std::exp(3.) / sum, 1e-5);
    EXPECT_NEAR(result.scores.as<float>()[2], std::exp(2.) / sum, 1e-5);
  }
}

TEST(Classes, ProbabilitiesAreKeptUnchanged) {
  const Tensor shares = Tensor::from<float>(std::vector<float>{0.2f, 0.7f, 0.1f}, {1, 3});
  EXPECT_EQ(read({}, {{"o", shares}}, input_of(8, 8), 5, 7).scores.as<float>()[0], 0.7f);
  Task task;
  task.activation = Activation::softmax;
  EXPECT_LT(read(task, {{"o", shares}}, input_of(8, 8), 5, 7).scores.as<float>()[0], 0.5f);
  task.activation = Activation::sigmoid;
  EXPECT_NEAR(read(task, {{"o", shares}}, input_of(8, 8), 5, 7).scores.as<float>()[0], plain_sigmoid(0.7),
              1e-6);
}

TEST(Classes, NonFiniteValuesAreRefused) {
  const Tensor bad = Tensor::from<float>(std::vector<float>{1, NAN, 2}, {1, 3});
  LANNER_EXPECT_ERROR(read({}, {{"o", bad}}, input_of(8, 8), 5, 7), ErrorCode::bad_data, "not finite");
  LANNER_EXPECT_ERROR(read(kind_of(TaskKind::embed), {{"o", bad}}, input_of(8, 8), 5, 7), ErrorCode::bad_data,
                      "not finite");
}

TEST(Features, EmbeddingIsTheBatchElement) {
  const Tensor features = Tensor::from<float>(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const TaskResult result = read(kind_of(TaskKind::embed), {{"o", features}}, input_of(8, 8), 5, 7, 1);
  ASSERT_EQ(result.embedding.shape(), Shape{4});
  EXPECT_EQ(result.embedding.as<float>()[0], 5);
  EXPECT_EQ(result.count(), 0);
}

class Semantic : public testing::TestWithParam<bool> {};

TEST_P(Semantic, ScoresAreInterpolatedBeforeTheBestIsTaken) {
  // Some neighbours agree, as in real maps, so that both code paths run.
  constexpr std::int64_t classes = 6, h = 12, w = 16;
  constexpr std::int32_t width = 48, height = 27; // Letterboxed to whole pixels.
  Draw draw(1);
  Tensor logits = draw.tensor({2, classes, h, w}, -1, 1);
  for (std::int64_t i = 0; i < h * w / 2; ++i)
    logits.as<float>()[static_cast<std::size_t>((classes + 3) * h * w + i)] = 5;
  const Preprocess spec = input_of(64, 48);
  const Letterbox place(width, height, 64, 48);
  const float* const second = logits.as<float>().data() + classes * h * w;
  Tensor output = logits;
  if (GetParam()) {
    output = Tensor::allocate(DType::f32, {2, h, w, classes});
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t c = 0; c < classes; ++c)
        for (std::int64_t i = 0; i < h * w; ++i)
          output.as<float>()[static_cast<std::size_t>((n * h * w + i) * classes + c)] =
              logits.as<float>()[static_cast<std::size_t>((n * classes + c) * h * w + i)];
  }
  Task task;
  task.labels.assign(classes, "x");
  const TaskResult result = read(task, {{"o", output}}, spec, width, height, 1);
  ASSERT_EQ(result.kind, TaskKind::semantic);
  ASSERT_EQ(result.classes.shape(), (Shape{height, width}));
  std::int64_t wrong = 0;
  for (std::int32_t y = 0; y < height; ++y)
    for (std::int32_t x = 0; x < width; ++x) {
      const double u = ((x + 0.5) * place.scale + place.left) / 4 - 0.5;
      const double v = ((y + 0.5) * place.scale + place.top) / 4 - 0.5;
      std::vector<double> scores;
      for (std::int64_t c = 0; c < classes; ++c)
        scores.push_back(plain_blend(
            u, v, w, h, [&](std::int64_t i, std::int64_t j) { return second[(c * h + j) * w + i]; }));
      const auto best = std::max_element(scores.begin(), scores.end());
      const auto said = static_cast<std::size_t>(
          result.classes.as<std::int32_t>()[static_cast<std::size_t>(y * width + x)]);
      ASSERT_LT(said, scores.size());
      if (scores[said] < *best - 1e-5) ++wrong;
    }
  EXPECT_EQ(wrong, 0);
}
INSTANTIATE_TEST_SUITE_P(Layouts, Semantic, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "ChannelsLast" : "ChannelsFirst"; });

TEST(SemanticMaps, IntegersAreClassNumbers) {
  Tensor map = Tensor::zeros(DType::i64, {1, 4, 4});
  map.as<std::int64_t>()[5] = 7;
  const TaskResult result =
      read(kind_of(TaskKind::semantic), {{"o", map}}, input_of(4, 4, Fit::stretch), 8, 8);
  for (std::size_t y = 0; y < 8; ++y)
    for (std::size_t x = 0; x < 8; ++x)
      EXPECT_EQ(result.classes.as<std::int32_t>()[y * 8 + x], y / 2 == 1 && x / 2 == 1 ? 7 : 0);
  map.as<std::int64_t>()[5] = -2;
  LANNER_EXPECT_ERROR(read(kind_of(TaskKind::semantic), {{"o", map}}, input_of(4, 4, Fit::stretch), 8, 8),
                      ErrorCode::bad_data, "class -2");
}

TEST(SemanticMaps, OneChannelIsTwoClasses) {
  const Tensor map = Tensor::from<float>(std::vector<float>{-1, 0.2f, 0.7f, 3}, {1, 1, 2, 2});
  Task task = kind_of(TaskKind::semantic);
  LANNER_EXPECT_ERROR(read(task, {{"o", map}}, input_of(2, 2, Fit::stretch), 2, 2),
                      ErrorCode::invalid_argument, "give activation");
  const auto classes = [&](Activation activation) {
    task.activation = activation;
    const auto values = read(task, {{"o", map}}, input_of(2, 2, Fit::stretch), 2, 2).classes;
    return std::vector(values.as<std::int32_t>().begin(), values.as<std::int32_t>().end());
  };
  EXPECT_EQ(classes(Activation::none), (std::vector{0, 0, 1, 1}));
  EXPECT_EQ(classes(Activation::sigmoid), (std::vector{0, 1, 1, 1}));
}

TEST(SemanticMaps, PixelsOutsideTheInputHaveNoClass) {
  const TaskResult result = read(kind_of(TaskKind::semantic), {{"o", Tensor::zeros(DType::i32, {1, 4, 4})}},
                                 input_of(4, 4, Fit::crop), 8, 4);
  for (std::size_t x = 0; x < 8; ++x)
    EXPECT_EQ(result.classes.as<std::int32_t>()[x], x >= 2 && x < 6 ? 0 : -1) << x;
}

TEST(Depth, IsResizedToThePicture) {
  constexpr std::int64_t h = 6, w = 8;
  Draw draw(2);
  const Tensor map = draw.tensor({1, h, w}, 1, 9);
  const Letterbox place(20, 10, 32, 24);
  for (const Shape& shape : {Shape{1, h, w}, Shape{1, 1, h, w}, Shape{1, h, w, 1}}) {
    const TaskResult result =
        read(kind_of(TaskKind::depth), {{"o", map.reshaped(shape)}}, input_of(32, 24), 20, 10);
    ASSERT_EQ(result.depth.shape(), (Shape{10, 20}));
    for (int y = 0; y < 10; ++y)
      for (int x = 0; x < 20; ++x) {
        const double u = ((x + 0.5) * place.scale + place.left) / 4 - 0.5,
                     v = ((y + 0.5) * place.scale + place.top) / 4 - 0.5;
        const double expected = plain_blend(u, v, w, h, [&](std::int64_t i, std::int64_t j) {
          return map.as<float>()[static_cast<std::size_t>(j * w + i)];
        });
        EXPECT_NEAR(result.depth.as<float>()[static_cast<std::size_t>(y * 20 + x)], expected, 1e-4);
      }
  }
}

TEST(Depth, UndoesRotationAndRegion) {
  // The input is the right half of the picture, turned clockwise: 4 x 4 of 8 x 4.
  Preprocess spec = input_of(4, 4, Fit::stretch);
  spec.region = {4, 0, 4, 4};
  spec.quarter_turns = 1;
  const Tensor map = Draw(3).tensor({1, 4, 4}, 1, 9);
  const TaskResult result = read(kind_of(TaskKind::depth), {{"o", map}}, spec, 8, 4);
  for (std::size_t y = 0; y < 4; ++y)
    for (std::size_t x = 0; x < 8; ++x) {
      const float said = result.depth.as<float>()[y * 8 + x];
      if (x < 4)
        EXPECT_TRUE(std::isnan(said));
      else // Its top row became its right column.
        EXPECT_NEAR(said, map.as<float>()[(x - 4) * 4 + (3 - y)], 1e-5);
    }
}

std::vector<int> pixels_of(const Image& image) {
  std::vector<int> pixels;
  for (std::int32_t y = 0; y < image.height; ++y)
    for (std::int32_t x = 0; x < image.width * 3; ++x)
      pixels.push_back(static_cast<int>(image.planes[0].data[y * image.planes[0].pitch + x]));
  return pixels;
}

TEST(Pictures, UseDeclaredRangeAndLayout) {
  const Tensor planes = Tensor::from<float>(std::vector<float>{-1, 1, 0, 2, -1, -5}, {1, 3, 1, 2});
  const Tensor pixels = Tensor::from<float>(std::vector<float>{-1, 0, -1, 1, 2, -5}, {1, 1, 2, 3});
  Task task = kind_of(TaskKind::image);
  LANNER_EXPECT_ERROR(read(task, {{"o", planes}}, input_of(2, 1), 2, 1), ErrorCode::invalid_argument,
                      "range");
  task.range = {-1.f, 1.f};
  EXPECT_EQ(pixels_of(read(task, {{"o", planes}}, input_of(2, 1), 2, 1).image),
            (std::vector{0, 128, 0, 255, 255, 0}));
  EXPECT_EQ(pixels_of(read(task, {{"o", pixels}}, input_of(2, 1), 2, 1).image),
            (std::vector{0, 128, 0, 255, 255, 0}));
  task.bgr = true;
  EXPECT_EQ(pixels_of(read(task, {{"o", planes}}, input_of(2, 1), 2, 1).image),
            (std::vector{0, 128, 0, 0, 255, 255}));
  task.range = {1.f, 0.f}; // White is 0.
  task.bgr = false;
  const Tensor gray = Tensor::from<float>(std::vector<float>{0, 0.25f, 1, 0.5f}, {1, 2, 2});
  EXPECT_EQ(pixels_of(read(task, {{"o", gray}}, input_of(2, 2), 2, 2).image),
            (std::vector{255, 255, 255, 191, 191, 191, 0, 0, 0, 128, 128, 128}));
}

TEST(Pictures, LetterboxIsCroppedAndRotationUndone) {
  // 8 x 4 in 8 x 8, twice as large: rows 4 to 11 of 16 are the picture.
  Tensor planes = Tensor::zeros(DType::f32, {1, 3, 16, 16});
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 4; y < 12; ++y)
      for (std::size_t x = 0; x < 16; ++x) planes.as<float>()[(c * 16 + y) * 16 + x] = 1;
  Task task = kind_of(TaskKind::image);
  task.range = {0.f, 1.f};
  const Image image = read(task, {{"o", planes}}, input_of(8, 8), 8, 4).image;
  EXPECT_EQ(image.width, 16);
  EXPECT_EQ(image.height, 8);
  for (const int value : pixels_of(image)) EXPECT_EQ(value, 255);
  Preprocess spec = input_of(2, 1, Fit::stretch);
  spec.quarter_turns = 1;
  const Tensor turned = Tensor::from<float>(std::vector<float>{1, 0, 1, 0, 1, 0}, {1, 3, 1, 2});
  const Image upright = read(task, {{"o", turned}}, spec, 1, 2).image;
  EXPECT_EQ(upright.height, 2);
  EXPECT_EQ(pixels_of(upright), (std::vector{0, 0, 0, 255, 255, 255}));
}

TEST(Pictures, InvalidOutputsAreRefused) {
  Task task = kind_of(TaskKind::image);
  task.range = {0.f, 1.f};
  const Tensor four = Tensor::zeros(DType::f32, {1, 4, 8, 8});
  LANNER_EXPECT_ERROR(read(task, {{"o", four}}, input_of(8, 8), 8, 8), ErrorCode::invalid_argument,
                      "task image");
  Tensor bad = Tensor::zeros(DType::f32, {1, 3, 8, 8});
  bad.as<float>()[70] = INFINITY;
  LANNER_EXPECT_ERROR(read(task, {{"o", bad}}, input_of(8, 8), 8, 8), ErrorCode::bad_data, "not finite");
  const ResolvedTask resolved_task =
      resolved(task, {{"o", Tensor::zeros(DType::f32, {1, 3, 8, 8})}}, input_of(8, 8));
  Limits limits;
  limits.pixels = 50;
  LANNER_EXPECT_ERROR(tasks::read_result(resolved_task.task, input_of(8, 8),
                                         {{"o", Tensor::zeros(DType::f32, {1, 3, 8, 8})}}, 7, 7, 0, limits),
                      ErrorCode::limit_exceeded, "pixels");
}

} // namespace
} // namespace lanner::test
