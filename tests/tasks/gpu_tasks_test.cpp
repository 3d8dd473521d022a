// Detectors' outputs read on a GPU against the same on the host: bit-identical, errors too.

#include <future>

#include "expect_error.h"
#include "tasks/gpu_tasks.h"

namespace lanner::test {
namespace {

struct YoloSize {
  std::int64_t batch = 2, places = 2100, classes = 20, extra = 0;
  std::int64_t fixed = 4;
};

/// Boxes all over an input of 320 x 320, [batch, channels, cells], of which a share of about `share` passes.
Tensor yolo(Draw& draw, const YoloSize& size, float share) {
  const std::int64_t channels = size.fixed + size.classes + size.extra;
  Tensor tensor = draw.tensor({size.batch, channels, size.places}, 0, 0.2f);
  float* value = tensor.as<float>().data();
  for (std::int64_t n = 0; n < size.batch; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < size.places; ++i, ++value) {
        if (c < 2) *value = draw(0, 320);
        if (c == 2 || c == 3) *value = draw(4, 90);
        if (c == 4 && size.fixed == 5) *value = draw(0, 1);
        if (c >= size.fixed && c < size.fixed + size.classes &&
            draw() < share / static_cast<float>(size.classes))
          *value = draw(0.2f, 1);
        if (c >= size.fixed + size.classes) *value = draw(-1, 1);
      }
  return tensor;
}

/// Transposes the last two dims.
Tensor transposed(const Tensor& tensor) {
  const Shape& s = tensor.shape();
  Tensor result = Tensor::allocate(DType::f32, {s[0], s[2], s[1]});
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t a = 0; a < s[1]; ++a)
      for (std::int64_t b = 0; b < s[2]; ++b)
        result.as<float>()[static_cast<std::size_t>((n * s[2] + b) * s[1] + a)] =
            tensor.as<float>()[static_cast<std::size_t>((n * s[1] + a) * s[2] + b)];
  return result;
}

std::vector<std::string> names(std::int64_t count) {
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(std::to_string(i));
  return labels;
}

Task yolo_task(TaskKind kind, Head head, const YoloSize& size) {
  Task task = task_of(kind, head);
  task.labels = names(size.classes);
  return task;
}

TEST_F(CudaTasks, YoloOfEveryTypeAndLayout) {
  Draw draw(1);
  const YoloSize size;
  const Tensor floats = yolo(draw, size, 0.1f);
  const Task task = yolo_task(TaskKind::detect, Head::yolo_v8, size);
  for (const DType type : reals)
    for (const bool rows : {false, true}) {
      const tasks::Outputs outputs{{"o", as_type(rows ? transposed(floats) : floats, type)}};
      EXPECT_GT(expect_same_reading(task, outputs, input_of(320, 320), {40, 30, 1}), 20);
      Task sigmoid = task;
      sigmoid.activation = Activation::sigmoid;
      sigmoid.score_threshold = 0.6f;
      EXPECT_GT(expect_same_reading(sigmoid, outputs, input_of(320, 320)), 20);
      Task agnostic = task;
      agnostic.class_agnostic = true;
      agnostic.max_detections = 7;
      EXPECT_GT(expect_same_reading(agnostic, outputs, input_of(320, 320)), 0);
    }
}

TEST_F(CudaTasks, YoloWithEveryFit) {
  Draw draw(2);
  const YoloSize size;
  const tasks::Outputs outputs{{"o", yolo(draw, size, 0.1f)}};
  const Task task = yolo_task(TaskKind::detect, Head::yolo_v8, size);
  for (const Fit fit : {Fit::letterbox, Fit::stretch, Fit::crop})
    for (int turns = 0; turns < 4; ++turns) {
      Preprocess spec = input_of(320, 320, fit);
      spec.quarter_turns = turns;
      EXPECT_GT(expect_same_reading(task, outputs, spec, {61, 47}), 20);
      spec.region = {3, 5, 40, 30};
      EXPECT_GT(expect_same_reading(task, outputs, spec, {61, 47}), 20);
    }
}

TEST_F(CudaTasks, YoloWhereNoneOneAndAllPass) {
  Draw draw(3);
  YoloSize size;
  const Task task = yolo_task(TaskKind::detect, Head::yolo_v8, size);
  Tensor output = yolo(draw, size, 0);
  EXPECT_EQ(expect_same_reading(task, {{"o", output}}, input_of(320, 320)), 0);
  output.as<float>()[static_cast<std::size_t>((4 + 7) * size.places + 1999)] = 0.9f;
  EXPECT_EQ(expect_same_reading(task, {{"o", output}}, input_of(320, 320)), 1);
  Task all = task;
  all.score_threshold = 0.f;
  all.max_detections = 100'000;
  EXPECT_GT(expect_same_reading(all, {{"o", output}}, input_of(320, 320)), 300);
  all.iou_threshold = 1.f;
  EXPECT_GT(expect_same_reading(all, {{"o", output}}, input_of(320, 320)), size.places / 2);
}

TEST_F(CudaTasks, BestOfManyCandidatesAreKept) {
  Draw draw(4);
  YoloSize size;
  size.batch = 1;
  size.places = 33'600; // 3 x 11 200; more than 30 000 pass.
  size.classes = 3;
  Task task = yolo_task(TaskKind::detect, Head::yolo_v8, size);
  Tensor output = yolo(draw, size, 3);
  // Scores with 64 values, so that many are equal.
  for (std::size_t i = static_cast<std::size_t>(4 * size.places); i < output.as<float>().size(); ++i)
    output.as<float>()[i] = std::floor(output.as<float>()[i] * 64) / 64;
  task.score_threshold = 0.01f;
  EXPECT_EQ(expect_same_reading(task, {{"o", output}}, input_of(320, 320), {300, 300}), 300);
  task.max_detections = 3000;
  task.iou_threshold = 0.9f;
  EXPECT_GT(expect_same_reading(task, {{"o", output}}, input_of(320, 320), {300, 300}), 2000);
}

TEST_F(CudaTasks, NonFiniteValuesGiveTheSameError) {
  Draw draw(5);
  const YoloSize size;
  const Task task = yolo_task(TaskKind::detect, Head::yolo_v8, size);
  const Tensor good = yolo(draw, size, 0.1f);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity})
    for (const std::int64_t channel : {0, 5, 23})
      for (const bool rows : {false, true}) {
        Tensor output = good.clone();
        // In a cell that passes, so that its box counts.
        float* const values = output.as<float>().data();
        values[4 * size.places + 1234] = 0.99f;
        values[channel * size.places + 1234] = bad;
        const tasks::Outputs outputs{{"o", rows ? transposed(output) : output}};
        EXPECT_EQ(expect_same_reading(task, outputs, input_of(320, 320)), -1);
      }
}

TEST_F(CudaTasks, YoloWithObjectness) {
  Draw draw(6);
  YoloSize size;
  size.fixed = 5;
  size.places = 6300;
  Task task = yolo_task(TaskKind::detect, Head::yolo_v5, size);
  Tensor output = transposed(yolo(draw, size, 0.5f));
  for (const DType type : reals) {
    const tasks::Outputs outputs{{"o", as_type(output, type)}};
    EXPECT_GT(expect_same_reading(task, outputs, input_of(320, 320), {300, 300, 1}), 20);
    Task logits = task;
    logits.activation = Activation::sigmoid;
    logits.score_threshold = 0.4f;
    EXPECT_GT(expect_same_reading(logits, outputs, input_of(320, 320), {300, 300}), 20);
  }
  // Above 1, which is no probability.
  output.as<float>()[4] = 3;
  task.score_threshold = 0.5f;
  expect_same_reading(task, {{"o", output}}, input_of(320, 320));
  for (const std::int64_t channel : {4, 9}) {
    output.as<float>()[static_cast<std::size_t>(25 * 77 + 4)] = 0.9f;
    output.as<float>()[static_cast<std::size_t>(25 * 77 + channel)] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(expect_same_reading(task, {{"o", output}}, input_of(320, 320)), -1);
  }
}

TEST_F(CudaTasks, YoloBeforeTheSigmoid) {
  Draw draw(7);
  Task task = task_of(TaskKind::detect, Head::yolo_v5_raw);
  task.anchors = {10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326};
  task.score_threshold = 0.5f;
  for (const DType type : reals) {
    tasks::Outputs outputs;
    int level = 0;
    for (const std::int64_t side : {40, 20, 10})
      outputs["level" + std::to_string(level++)] =
          as_type(draw.tensor({2, 3, side, side, 25}, -6, 1.5f), type);
    EXPECT_GT(expect_same_reading(task, outputs, input_of(320, 320), {300, 300, 1}), 20);
  }
}

struct PairCase {
  Head head;
  std::int64_t rows, channels;
  float threshold, low, high;
};

TEST_F(CudaTasks, HeadsWithBoxesAndScores) {
  Draw draw(8);
  const PairCase cases[] = {
      {Head::boxes_scores, 3000, 20, 0.9f, 0, 1}, {Head::boxes_scores, 400, 1000, 0.999f, 0, 1},
      {Head::detr, 400, 92, 0.1f, -2, 7},         {Head::rt_detr, 300, 80, 0.9f, -6, 3},
      {Head::ssd, 3000, 21, 0.4f, -2, 6},         {Head::retinanet, 3000, 20, 0.9f, -6, 3}};
  for (const PairCase& one : cases)
    for (const DType type : reals) {
      Task task = task_of(TaskKind::detect, one.head);
      task.score_threshold = one.threshold;
      if (one.head == Head::boxes_scores) {
        task.box_form = BoxForm::xyxy;
        task.box_normalised = true;
      }
      tasks::Outputs outputs{
          {"boxes", as_type(draw.tensor({2, one.rows, 4}), type)},
          {"scores", as_type(draw.tensor({2, one.rows, one.channels}, one.low, one.high), type)}};
      if (one.head == Head::ssd) outputs["anchors"] = draw.tensor({one.rows, 4}, 0, 320);
      if (one.head == Head::retinanet)
        for (std::int64_t i = 0; i < one.rows * 4; ++i) task.anchors.push_back(draw(0, 320));
      EXPECT_GT(expect_same_reading(task, outputs, input_of(320, 320), {300, 300, 1}), 0)
          << to_string(one.head);
      // Anchors whose rows a kernel selects.
      if (one.head != Head::ssd || type != DType::f32) continue;
      outputs["boxes"] = draw.tensor({2, 5000, 4}, -1, 1);
      outputs["scores"] = draw.tensor({2, 5000, 21}, -2, 6);
      outputs["anchors"] = draw.tensor({5000, 4}, 0, 320);
      EXPECT_GT(expect_same_reading(task, outputs, input_of(320, 320), {300, 300}), 0);
    }
}

TEST_F(CudaTasks, BoxesAndScoresInOneOutput) {
  Draw draw(9);
  Task task = task_of(TaskKind::detect, Head::rt_detr);
  task.labels = names(80);
  task.score_threshold = 0.95f;
  const tasks::Outputs outputs{{"o", draw.tensor({2, 300, 84})}};
  EXPECT_GT(expect_same_reading(task, outputs, input_of(320, 320), {300, 300, 1}), 20);
}

TEST_F(CudaTasks, PeaksOfHeatMaps) {
  Draw draw(10);
  const Task task = task_of(TaskKind::detect, Head::centernet);
  for (const DType type : reals) {
    tasks::Outputs outputs{{"hm", as_type(draw.tensor({2, 20, 50, 40}, -6, 2), type)},
                           {"wh", as_type(draw.tensor({2, 2, 50, 40}, 1, 9), type)},
                           {"reg", as_type(draw.tensor({2, 2, 50, 40}), type)}};
    EXPECT_GT(expect_same_reading(task, outputs, input_of(160, 200), {300, 300, 1}), 20);
  }
  Tensor heat = draw.tensor({1, 20, 50, 40}, -6, 2);
  heat.as<float>()[23'456] = std::numeric_limits<float>::quiet_NaN();
  const tasks::Outputs bad{
      {"hm", heat}, {"wh", draw.tensor({1, 2, 50, 40}, 1, 9)}, {"reg", draw.tensor({1, 2, 50, 40})}};
  EXPECT_EQ(expect_same_reading(task, bad, input_of(160, 200), {300, 300}), -1);
}

TEST_F(CudaTasks, MasksOfPrototypes) {
  Draw draw(11);
  YoloSize size;
  size.extra = 32;
  const Tensor floats = yolo(draw, size, 0.02f), planes = draw.tensor({2, 32, 80, 80}, -1, 1);
  Task task = yolo_task(TaskKind::segment, Head::yolo_v8, size);
  for (const DType type : reals)
    for (int turns = 0; turns < 4; ++turns) {
      const tasks::Outputs outputs{{"o", as_type(floats, type)}, {"p", as_type(planes, type)}};
      Preprocess spec = input_of(320, 320, turns % 2 ? Fit::letterbox : Fit::stretch);
      spec.quarter_turns = turns;
      EXPECT_GT(expect_same_reading(task, outputs, spec, {157, 211, 1}), 5);
    }
  // No object, and more objects than one group.
  task.score_threshold = 1.f;
  EXPECT_EQ(expect_same_reading(task, {{"o", floats}, {"p", planes}}, input_of(320, 320)), 0);
  task.score_threshold = 0.3f;
  task.iou_threshold = 1.f;
  EXPECT_GT(expect_same_reading(task, {{"o", floats}, {"p", planes}}, input_of(320, 320), {4000, 3000}), 20);
}

TEST_F(CudaTasks, MasksOfListedBoxes) {
  Draw draw(12);
  constexpr std::int64_t count = 9;
  Tensor boxes = draw.tensor({count, 4}, 0, 60), labels = Tensor::allocate(DType::i64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    float* const box = boxes.as<float>().data() + i * 4;
    box[2] = box[0] + draw(5, 40);
    box[3] = box[1] + draw(5, 40);
    labels.as<std::int64_t>()[static_cast<std::size_t>(i)] = 1 + i % 3;
  }
  const Tensor scores = draw.tensor({count}, 0.3f, 1);
  const tasks::Outputs outputs{
      {"boxes", boxes}, {"labels", labels}, {"scores", scores}, {"masks", draw.tensor({count, 1, 80, 90})}};
  EXPECT_EQ(expect_same_reading(task_of(TaskKind::segment, Head::torchvision), outputs, input_of(90, 80),
                                {190, 170}),
            count);
  Tensor shares = Tensor::allocate(DType::f32, {1, count, 4}),
         numbers = Tensor::allocate(DType::f32, {1, count});
  for (std::int64_t i = 0; i < count * 4; ++i)
    shares.as<float>()[static_cast<std::size_t>(i)] =
        boxes.as<float>()[static_cast<std::size_t>(i ^ 1)] / ((i & 1) ? 90.f : 80.f);
  for (float& number : numbers.as<float>()) number = 1;
  const tasks::Outputs boxed{{"detection_boxes", shares},
                             {"detection_classes", numbers},
                             {"detection_scores", scores.reshaped({1, count})},
                             {"num_detections", Tensor::from<float>(std::vector<float>{count}, {1})},
                             {"detection_masks", draw.tensor({1, count, 45, 45})}};
  EXPECT_EQ(
      expect_same_reading(task_of(TaskKind::segment, Head::tensorflow), boxed, input_of(90, 80), {190, 170}),
      count);
}

TEST_F(CudaTasks, PosesAndRotatedBoxes) {
  Draw draw(13);
  YoloSize size;
  size.classes = 1;
  size.extra = 51;
  Task pose = yolo_task(TaskKind::pose, Head::yolo_v8, size);
  pose.keypoints = 17;
  pose.keypoint_values = 3;
  EXPECT_GT(expect_same_reading(pose, {{"o", yolo(draw, size, 0.1f)}}, input_of(320, 320), {300, 300, 1}),
            20);
  Tensor bad = yolo(draw, size, 0.1f);
  for (std::int64_t i = 0; i < size.places; ++i)
    bad.as<float>()[static_cast<std::size_t>(7 * size.places + i)] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(expect_same_reading(pose, {{"o", bad}}, input_of(320, 320), {300, 300}), -1);
  YoloSize turned;
  turned.classes = 15;
  turned.extra = 1;
  const Task obb = yolo_task(TaskKind::obb, Head::yolo_v8, turned);
  for (const float share : {0.05f, 1.f}) // Suppressed on the host, and on the GPU.
    for (const DType type : reals)
      EXPECT_GT(expect_same_reading(obb, {{"o", as_type(yolo(draw, turned, share), type)}},
                                    input_of(320, 320), {300, 280, 1}),
                20);
}

TEST_F(CudaTasks, ManyThreadsReadAtOnce) {
  Draw draw(18);
  YoloSize size;
  size.extra = 32;
  const tasks::Outputs outputs{{"o", yolo(draw, size, 0.05f)}, {"p", draw.tensor({2, 32, 80, 80}, -1, 1)}};
  const Preprocess spec = input_of(320, 320);
  const Task task = resolved(yolo_task(TaskKind::segment, Head::yolo_v8, size), outputs, spec).task;
  const tasks::Outputs remote = there(outputs);
  std::vector<std::future<void>> all;
  for (std::int64_t i = 0; i < 8; ++i)
    all.push_back(std::async(std::launch::async, [&, i] {
      const Picture picture{100, 80, i % 2};
      const TaskResult expected = result_of(task, outputs, spec, picture);
      for (int again = 0; again < 5; ++again) expect_same(result_of(task, remote, spec, picture), expected);
    }));
  for (auto& one : all) one.get();
}

TEST_F(CudaTasks, MismatchedShapesGiveTheSameError) {
  Draw draw(19);
  Task task = task_of(TaskKind::detect, Head::boxes_scores);
  task.box_form = BoxForm::xyxy;
  task.box_normalised = true;
  const tasks::Outputs good{{"boxes", draw.tensor({1, 3000, 4})}, {"scores", draw.tensor({1, 3000, 20})}};
  task = resolved(task, good, input_of(320, 320)).task;
  const tasks::Outputs bad{{"boxes", draw.tensor({1, 2000, 4})}, {"scores", draw.tensor({1, 3000, 20})}};
  LANNER_EXPECT_ERROR(result_of(task, there(bad), input_of(320, 320), {}), ErrorCode::invalid_argument,
                      "boxes are");
}

} // namespace
} // namespace lanner::test
