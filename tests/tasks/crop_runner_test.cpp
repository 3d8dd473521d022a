// A second network on boxes: the same answers as running it on each crop by hand.

#include <lanner/crop_runner.h>

#include <lanner/classes.h>

#include <limits>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "image/reference.h"
#include "tasks/results.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::numbers;
using test::plain_options;
using test::random_image;

constexpr std::int32_t side = 8; ///< Of the second network's input.

/// The picture's pixels, or the mean of each channel.
std::string pixels_model(const std::string& batch) {
  const std::vector<std::string> dims{batch, "3", "8", "8"};
  return model(graph({.nodes = {node({"Neg", {"x"}, {"y"}})},
                      .inputs = {value("x", f32, dims)},
                      .outputs = {value("y", f32, dims)}}));
}
std::string means_model(const std::string& batch) {
  return model(
      graph({.nodes = {node({"GlobalAveragePool", {"x"}, {"mean"}}), node({"Flatten", {"mean"}, {"y"}})},
             .inputs = {value("x", f32, {batch, "3", "8", "8"})},
             .outputs = {value("y", f32, {batch, "3"})}}));
}

Preprocess spec_of(Fit fit = Fit::stretch) {
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = spec.height = side;
  spec.fit = fit;
  return spec;
}

/// `pictures`: preprocessing is part of the network.
Engine engine_of(const std::string& model, bool pictures, const Preprocess& spec = spec_of(),
                 std::int64_t most = 0) {
  BuildOptions options = plain_options();
  if (most > 0) options.shapes["x"] = {{1, 3, side, side}, {1, 3, side, side}, {most, 3, side, side}};
  if (pictures)
    options.images["x"] = {{}, spec};
  else
    options.preprocess["x"] = spec;
  return built(model, options);
}

Task task_of(TaskKind kind) {
  Task task;
  task.kind = kind;
  return task;
}

/// The network's answers for one region.
std::vector<float> by_hand(const Engine& engine, const Image& picture, Preprocess spec,
                           const PixelRect& region) {
  Context context = engine.create_context();
  spec.region = region;
  const std::vector<Image> images(
      static_cast<std::size_t>(std::max<std::int64_t>(1, engine.inputs()[0].dims[0])), picture);
  context.bind("x", images, &spec);
  context.run();
  std::vector<float> all = numbers(context.output("y").tensor);
  all.resize(all.size() / images.size());
  return all;
}

const std::vector<Box4> odd_boxes{
    {3.5f, 2.2f, 20.7f, 17.1f}, {0, 0, 40, 30}, {11, 7, 12, 8}, {30.2f, 21, 40, 30}, {1.9f, 1, 7, 2.4f}};
const std::vector<PixelRect> odd_regions{
    {3, 2, 18, 16}, {0, 0, 40, 30}, {11, 7, 1, 1}, {30, 21, 10, 9}, {1, 1, 6, 2}};

TEST(CropRunner, GivesTheAnswersOfRunningEachCropByHand) {
  for (const bool pictures : {false, true})
    for (const Fit fit : {Fit::stretch, Fit::letterbox})
      for (const std::string batch : {"N", "1", "3"})
        for (const PixelFormat format : {PixelFormat::rgb24, PixelFormat::nv12, PixelFormat::yuv420p10}) {
          SCOPED_TRACE(
              fmt::format("{} {} batch {} {}", pictures, static_cast<int>(fit), batch, to_string(format)));
          const Preprocess spec = spec_of(fit);
          const Engine engine = engine_of(means_model(batch), pictures, spec);
          CropRunner runner(engine, task_of(TaskKind::embed));
          const Image picture = random_image(format, 40, 30, 3);
          TaskResult found = boxes_result(TaskKind::detect, 40, 30, odd_boxes);
          runner.run(picture, found);
          ASSERT_EQ(found.crops.size(), odd_boxes.size());
          ASSERT_TRUE(found.crop_task);
          EXPECT_EQ(found.crop_task->kind, TaskKind::embed);
          for (std::size_t i = 0; i < odd_boxes.size(); ++i) {
            EXPECT_EQ(found.crops[i].region, odd_regions[i]);
            EXPECT_EQ(numbers(found.crops[i].embedding), by_hand(engine, picture, spec, odd_regions[i])) << i;
          }
        }
}

TEST(CropRunner, RunsInBatchSizesThatTheEngineAccepts) {
  const Image picture = random_image(PixelFormat::rgb24, 40, 30, 1);
  const std::vector<Box4> boxes(11, {2, 3, 20, 15});
  const auto batches_of = [&](const Engine& engine, int batch) {
    CropOptions options;
    options.batch = batch;
    CropRunner runner(engine, task_of(TaskKind::embed), options);
    const auto sizes_made = [&] {
      std::set<std::int64_t> sizes;
      for (const auto& [key, variant] : state_of(engine).variants().list()) sizes.insert(key.shapes[0][0]);
      return sizes;
    };
    const std::set<std::int64_t> sizes = sizes_made();
    for (std::size_t count = 1; count <= boxes.size(); ++count) {
      TaskResult found = boxes_result(TaskKind::detect, 40, 30,
                                      {boxes.begin(), boxes.begin() + static_cast<std::ptrdiff_t>(count)});
      runner.run(picture, found);
      EXPECT_EQ(found.crops.size(), count);
      for (const TaskResult& crop : found.crops)
        EXPECT_EQ(numbers(crop.embedding), numbers(found.crops[0].embedding));
    }
    EXPECT_EQ(sizes_made(), sizes) << "made in the middle of a run";
    return sizes;
  };
  using Sizes = std::set<std::int64_t>;
  EXPECT_EQ(batches_of(engine_of(means_model("N"), true), 0), (Sizes{1, 2, 4, 8}));
  EXPECT_EQ(batches_of(engine_of(means_model("N"), false), 4), (Sizes{1, 2, 4}));
  EXPECT_EQ(batches_of(engine_of(means_model("N"), true, spec_of(), 3), 0), (Sizes{1, 2, 3}));
  EXPECT_EQ(batches_of(engine_of(means_model("4"), true), 0), (Sizes{4}));
  LANNER_EXPECT_ERROR(batches_of(engine_of(means_model("N"), true, spec_of(), 3), 4),
                      ErrorCode::invalid_argument, "crops: batch 4: the engine takes 3 at most");
  LANNER_EXPECT_ERROR(batches_of(engine_of(means_model("4"), true), 2), ErrorCode::invalid_argument,
                      "crops: batch 2: input x: any image[4] has a fixed first dimension");
}

TEST(CropRunner, RunsOnlyOnRequestedBoxes) {
  const Engine engine = engine_of(means_model("N"), true);
  const Image picture = random_image(PixelFormat::rgb24, 40, 30, 1);
  const auto regions_of = [&](const CropOptions& options, const std::vector<Box4>& boxes) {
    CropRunner runner(engine, task_of(TaskKind::embed), options);
    TaskResult found = boxes_result(TaskKind::detect, 40, 30, boxes, {4, 5, 4, 6});
    runner.run(picture, found);
    std::vector<PixelRect> regions;
    for (const TaskResult& crop : found.crops) {
      EXPECT_EQ(crop.embedding.elements(), crop.region.whole() ? 0 : 3);
      regions.push_back(crop.region);
    }
    return regions;
  };
  const std::vector<Box4> boxes{{10, 10, 20, 20}, {0, 0, 4, 4}, {30, 20, 40, 30}, {8, 8, 8, 9}};
  const PixelRect none;
  using Regions = std::vector<PixelRect>;
  EXPECT_EQ(regions_of({}, boxes), (Regions{{10, 10, 10, 10}, {0, 0, 4, 4}, {30, 20, 10, 10}, none}));
  EXPECT_EQ(regions_of({.classes = {4, 6}}, boxes),
            (Regions{{10, 10, 10, 10}, none, {30, 20, 10, 10}, none}));
  EXPECT_EQ(regions_of({.classes = {4}, .max_boxes = 1}, boxes),
            (Regions{{10, 10, 10, 10}, none, none, none}));
  EXPECT_EQ(regions_of({.margin = 0.25f}, boxes),
            (Regions{{7, 7, 16, 16}, {0, 0, 5, 5}, {27, 17, 13, 13}, none}));
  const float nan = std::numeric_limits<float>::quiet_NaN(), far = std::numeric_limits<float>::max();
  EXPECT_EQ(regions_of({.margin = 1}, {{nan, 0, 5, 5}, {-far, 0, far, 5}, {50, 50, 60, 60}, {9, 9, 3, 3}}),
            (Regions{none, none, none, none}));
}

TEST(CropRunner, CropsARotatedBoxByItsBoundingBox) {
  CropRunner runner(engine_of(means_model("1"), true), task_of(TaskKind::embed));
  TaskResult found = rotated_result(40, 30, {{20, 15, 10, 4, 0.6f}});
  runner.run(random_image(PixelFormat::rgb24, 40, 30, 1), found);
  ASSERT_EQ(found.crops.size(), 1u);
  // Half sides 5 cos + 2 sin, and 5 sin + 2 cos.
  EXPECT_EQ(found.crops[0].region, (PixelRect{14, 10, 12, 10}));
}

/// Boxes in pixels of the input, with the scores of one class each, the same for every picture.
std::string boxes_model() {
  const auto zero = [](const std::string& name) { return node({"Mul", {"least", "nothing"}, {name}}); };
  return model(graph(
      {.nodes = {node({"ReduceMin", {"x"}, {"least"}, {attribute("keepdims", 0)}}), zero("zero"),
                 node({"Add", {"zero", "fixed_boxes"}, {"boxes"}}),
                 node({"Add", {"zero", "fixed_scores"}, {"scores"}})},
       .inputs = {value("x", f32, {"1", "3", "8", "8"})},
       .outputs = {value("boxes", f32, {"1", "2", "4"}), value("scores", f32, {"1", "2", "2"})},
       .constants = {floats("nothing", {}, {0}), floats("fixed_boxes", {1, 2, 4}, {0, 0, 4, 8, 2, 2, 6, 4}),
                     floats("fixed_scores", {1, 2, 2}, {0.9f, 0, 0, 0.6f})}}));
}

TEST(CropRunner, BoxesOfCropsAreInPictureCoordinates) {
  Task task = task_of(TaskKind::detect);
  task.head = Head::boxes_scores;
  task.box_form = BoxForm::xyxy;
  task.box_normalised = false;
  CropRunner runner(engine_of(boxes_model(), true), task);
  TaskResult found = boxes_result(TaskKind::detect, 40, 30, {{10, 6, 26, 14}, {5, 5, 5, 9}});
  runner.run(random_image(PixelFormat::rgb24, 40, 30, 1), found);
  const TaskResult& crop = found.crops[0];
  EXPECT_EQ(crop.width, 40);
  EXPECT_EQ(crop.height, 30);
  EXPECT_EQ(numbers(crop.boxes), (std::vector<float>{10, 6, 18, 14, 14, 8, 22, 10}));
  EXPECT_EQ(crop.labels.as<std::int64_t>()[1], 1);
  EXPECT_EQ(found.crops[1].boxes.shape(), (Shape{0, 4}));
  EXPECT_EQ(found.crops[1].count(), 0);
}

TEST(CropRunner, MapsAndImagesKeepTheCropsCoordinates) {
  const Image picture = random_image(PixelFormat::rgb24, 40, 30, 1);
  TaskResult found = boxes_result(TaskKind::detect, 40, 30, {{10, 6, 26, 10}, {5, 5, 5, 9}});
  CropRunner semantic(engine_of(pixels_model("N"), true), task_of(TaskKind::semantic));
  semantic.run(picture, found);
  EXPECT_EQ(found.crops[0].classes.shape(), (Shape{4, 16}));
  EXPECT_EQ(found.crops[0].width, 16);
  EXPECT_EQ(found.crops[1].classes.elements(), 0);
  Task task = task_of(TaskKind::image);
  task.range = {{-2.f, 2.f}};
  for (const Fit fit : {Fit::stretch, Fit::letterbox, Fit::crop}) {
    SCOPED_TRACE(static_cast<int>(fit));
    CropRunner image(engine_of(pixels_model("N"), true, spec_of(fit)), task);
    image.run(picture, found);
    const TaskResult& crop = found.crops[0];
    EXPECT_EQ(crop.image.width, 8);
    EXPECT_EQ(crop.image.height, fit == Fit::letterbox ? 2 : 8);
    EXPECT_EQ(crop.region, fit == Fit::crop ? (PixelRect{16, 6, 4, 4}) : (PixelRect{10, 6, 16, 4}));
    EXPECT_FALSE(found.crops[1].image.defined());
  }
}

TEST(CropRunner, ThreadsShareAnEngineWithARunnerEach) {
  const Engine engine = engine_of(means_model("N"), true);
  const Image picture = random_image(PixelFormat::nv12, 40, 30, 3);
  std::vector<TaskResult> found(4, boxes_result(TaskKind::detect, 40, 30, odd_boxes));
  std::vector<std::thread> threads;
  for (TaskResult& result : found)
    threads.emplace_back([&] {
      CropRunner runner(engine, task_of(TaskKind::embed));
      for (int i = 0; i < 20; ++i) runner.run(picture, result);
    });
  for (std::thread& thread : threads) thread.join();
  for (const TaskResult& result : found)
    for (std::size_t i = 0; i < odd_boxes.size(); ++i)
      EXPECT_EQ(numbers(result.crops[i].embedding), by_hand(engine, picture, spec_of(), odd_regions[i]));
}

TEST(CropRunner, WithoutBoxesSetsOnlyTheTask) {
  CropRunner runner(engine_of(means_model("N"), true), task_of(TaskKind::classify));
  TaskResult found = boxes_result(TaskKind::detect, 40, 30, {});
  runner.run(random_image(PixelFormat::rgb24, 40, 30, 1), found);
  EXPECT_TRUE(found.crops.empty());
  ASSERT_TRUE(found.crop_task);
  EXPECT_EQ(found.crop_task->top, 5);
}

TEST(CropRunner, RefusesInvalidOptionsAndResults) {
  const Engine engine = engine_of(means_model("N"), true);
  const Task embed = task_of(TaskKind::embed);
  LANNER_EXPECT_ERROR(CropRunner(engine, embed, {.margin = -1}), ErrorCode::invalid_argument,
                      "crops: margin -1: expected a share of the box from 0 to 10");
  LANNER_EXPECT_ERROR(CropRunner(engine, embed, {.max_boxes = -1}), ErrorCode::invalid_argument,
                      "max_boxes -1");
  LANNER_EXPECT_ERROR(CropRunner(engine, embed, {.input = "z"}), ErrorCode::invalid_argument,
                      "has no input 'z'; its input is 'x'");
  LANNER_EXPECT_ERROR(CropRunner(engine, task_of(TaskKind::none)), ErrorCode::invalid_argument,
                      "expected one with answers for a crop");
  LANNER_EXPECT_ERROR(CropRunner(engine, task_of(TaskKind::detect)), ErrorCode::invalid_argument,
                      "task detect");
  CropOptions part;
  part.preprocess = spec_of();
  part.preprocess->region = {0, 0, 5, 5};
  LANNER_EXPECT_ERROR(CropRunner(engine, embed, part), ErrorCode::invalid_argument,
                      "leave it out, as each box is the region");
  BuildOptions plain = plain_options();
  LANNER_EXPECT_ERROR(CropRunner(built(means_model("1"), plain), embed), ErrorCode::invalid_argument,
                      "has no preprocessing for input x");

  CropRunner runner(engine, embed);
  const Image picture = random_image(PixelFormat::rgb24, 40, 30, 1);
  TaskResult found = classes_result(40, 30, {1}, {0.5f});
  LANNER_EXPECT_ERROR(runner.run(picture, found), ErrorCode::invalid_argument,
                      "a result of the task classify has no boxes");
  found = boxes_result(TaskKind::detect, 41, 30, odd_boxes);
  LANNER_EXPECT_ERROR(runner.run(picture, found), ErrorCode::invalid_argument,
                      "expected the image of the result, 41x30 pixels, got 40x30");
  LANNER_EXPECT_ERROR(runner.run({}, found), ErrorCode::invalid_argument, "no image was given");
  EXPECT_TRUE(found.crops.empty());
}

TEST(CropRunner, ClassesHaveLabelsOrNumbers) {
  Task task;
  task.labels = {"car", "person", "7"};
  EXPECT_EQ(class_number(task, "person"), 1);
  EXPECT_EQ(class_number(task, "7"), 2);
  EXPECT_EQ(class_number(task, "0"), 0);
  LANNER_EXPECT_ERROR(class_number(task, "3"), ErrorCode::invalid_argument,
                      "not among the network's 3 classes");
  LANNER_EXPECT_ERROR(class_number(task, "persn"), ErrorCode::invalid_argument, "did you mean person?");
  EXPECT_EQ(class_number({}, "12"), 12);
  LANNER_EXPECT_ERROR(class_number({}, "-1"), ErrorCode::invalid_argument, "it has no labels");
  LANNER_EXPECT_ERROR(class_number({}, "car"), ErrorCode::invalid_argument, "it has no labels");
}

} // namespace
} // namespace lanner
