// Semantic maps, images and suppression on a GPU, against the same on the host.

#include "expect_error.h"
#include "tasks/gpu_tasks.h"

namespace lanner::test {
namespace {

TEST_F(CudaTasks, SemanticMapsMatchTheHost) {
  Draw draw(14);
  for (const DType type : reals)
    for (const bool last : {false, true})
      for (int turns = 0; turns < 4; ++turns) {
        Task task;
        task.kind = TaskKind::semantic;
        task.channels_last = last;
        Preprocess spec = input_of(128, 96, turns < 2 ? Fit::letterbox : Fit::stretch);
        spec.quarter_turns = turns;
        Tensor scores = draw.tensor(last ? Shape{2, 48, 64, 21} : Shape{2, 21, 48, 64}, -3, 3);
        expect_same_reading(task, {{"o", as_type(scores, type)}}, spec, {171, 133, 1});
        task.activation = Activation::sigmoid;
        Tensor one = draw.tensor(last ? Shape{1, 192, 256, 1} : Shape{1, 1, 192, 256}, -3, 3);
        expect_same_reading(task, {{"o", as_type(one, type)}}, spec, {171, 133});
        task = Task();
        task.kind = TaskKind::depth;
        expect_same_reading(task, {{"o", as_type(one, type)}}, spec, {171, 133});
      }
}

TEST_F(CudaTasks, SemanticMapsWithTiesMatchTheHost) {
  Draw draw(15);
  Tensor scores = draw.tensor({1, 21, 48, 64}, 0, 1);
  for (std::size_t i = 0; i < scores.as<float>().size(); ++i) {
    const std::size_t c = i / (48 * 64), y = i / 64 % 48, x = i % 64;
    if (c == (y / 9 * 8 + x / 11) % 21) scores.as<float>()[i] += 0.9f;
    scores.as<float>()[i] = std::floor(scores.as<float>()[i] * 8) / 8; // Ties.
  }
  Task task;
  task.kind = TaskKind::semantic;
  expect_same_reading(task, {{"o", scores}}, input_of(128, 96), {533, 271});
  scores.as<float>()[40'000] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(expect_same_reading(task, {{"o", scores}}, input_of(128, 96), {533, 271}), -1);
}

TEST_F(CudaTasks, ImagesMatchTheHost) {
  Draw draw(16);
  for (const DType type : reals)
    for (const bool last : {false, true})
      for (const int channels : {1, 3})
        for (int turns = 0; turns < 4; turns += 3) {
          Task task;
          task.kind = TaskKind::image;
          task.channels_last = last;
          task.bgr = turns == 0;
          task.range = {{-0.5f, 1}};
          Preprocess spec = input_of(128, 96);
          spec.quarter_turns = turns;
          const Tensor output =
              draw.tensor(last ? Shape{2, 192, 256, channels} : Shape{2, channels, 192, 256}, -0.7f, 1.2f);
          expect_same_reading(task, {{"o", as_type(output, type)}}, spec, {171, 133, 1});
        }
}

TEST_F(CudaTasks, SuppressionMatchesTheHost) {
  Draw draw(17);
  for (const std::int64_t count : {1, 700, 1024, 3000})
    for (const std::int64_t numbers : {4, 5}) {
      if (numbers == 5 && count > 1024) continue; // Slow on the host.
      Tensor boxes = draw.tensor({count, numbers}, 0, 100), scores = draw.tensor({count});
      Tensor labels = Tensor::allocate(DType::i64, {count});
      for (std::int64_t i = 0; i < count; ++i) {
        float* const box = boxes.as<float>().data() + i * numbers;
        if (numbers == 5)
          box[2] = draw(1, 20), box[3] = draw(1, 20), box[4] = draw(-3, 3);
        else if (i % 3)
          box[2] = box[0] + draw(1, 20), box[3] = box[1] + draw(-20, 20);
        labels.as<std::int64_t>()[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(draw(-2, 2));
        if (i % 5 == 0) scores.as<float>()[static_cast<std::size_t>(i)] = i % 2 ? 0.f : -0.f;
        if (i % 7 == 0) scores.as<float>()[static_cast<std::size_t>(i)] = 0.5f;
      }
      const Tensor far_boxes = boxes.to(gpu), far_scores = scores.to(gpu), far_labels = labels.to(gpu);
      for (const float threshold : {0.f, 0.3f, 0.7f, 1.f})
        for (const std::int64_t most : {0, 1, 40}) {
          EXPECT_EQ(suppress_boxes(far_boxes, far_scores, {}, threshold, most),
                    suppress_boxes(boxes, scores, {}, threshold, most))
              << count << " " << numbers << " " << threshold;
          EXPECT_EQ(suppress_boxes(far_boxes, far_scores, far_labels, threshold, most),
                    suppress_boxes(boxes, scores, labels, threshold, most));
        }
      // Some on the host.
      EXPECT_EQ(suppress_boxes(boxes, far_scores, labels, 0.4f), suppress_boxes(boxes, scores, labels, 0.4f));
    }
  const Tensor none = Tensor::allocate(DType::f32, {0, 4});
  EXPECT_TRUE(suppress_boxes(none.to(gpu), Tensor::allocate(DType::f32, {0}).to(gpu), {}, 0.5f).empty());
  Tensor boxes = draw.tensor({2000, 4}, 0, 100), scores = draw.tensor({2000});
  boxes.as<float>()[7001] = std::numeric_limits<float>::quiet_NaN();
  LANNER_EXPECT_ERROR(suppress_boxes(boxes.to(gpu), scores.to(gpu), {}, 0.5f), ErrorCode::bad_data,
                      "a box or a score is not finite");
}

} // namespace
} // namespace lanner::test
