// Results of a second network on boxes, drawn and written.

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include <lanner/draw.h>
#include <lanner/result_writer.h>

#include "expect_error.h"
#include "tasks/results.h"

namespace lanner {
namespace {

constexpr std::int32_t width = 60, height = 40;

Image plain(std::int32_t across, std::int32_t down, int level) {
  Image image = Image::allocate(PixelFormat::rgb24, across, down);
  for (std::int32_t y = 0; y < down; ++y)
    std::fill_n(image.planes[0].data + image.planes[0].pitch * y, 3 * across, static_cast<std::byte>(level));
  return image;
}

int level(const Image& image, std::int32_t x, std::int32_t y) {
  return std::to_integer<int>(image.planes[0].data[image.planes[0].pitch * y + 3 * x]);
}

/// One box with one crop of this kind.
TaskResult with_crop(TaskResult crop, const PixelRect& region = {10, 10, 30, 20}) {
  TaskResult result = boxes_result(TaskKind::detect, width, height, {{10, 10, 40, 30}});
  Task task;
  task.kind = crop.kind;
  task.labels = {"red", "green"};
  result.crop_task = std::make_shared<const Task>(task);
  crop.region = region;
  result.crops.push_back(std::move(crop));
  return result;
}

DrawOptions without_labels() {
  DrawOptions options;
  options.labels = false;
  options.line_width = 1;
  return options;
}

TEST(DrawnCrops, ImagesAreDrawnInsideTheirBox) {
  TaskResult crop = result_of(TaskKind::image, 30, 20);
  crop.image = plain(7, 5, 200);
  const Image drawn = draw_result(plain(width, height, 40), with_crop(std::move(crop)), {}, without_labels());
  EXPECT_EQ(level(drawn, 25, 20), 200);
  EXPECT_EQ(level(drawn, 5, 20), 40);
  EXPECT_EQ(level(drawn, 50, 35), 40);
}

TEST(DrawnCrops, BoxesAreInPictureCoordinates) {
  const TaskResult crop = boxes_result(TaskKind::detect, width, height, {{20, 15, 30, 25}}, {1});
  const Image gray = plain(width, height, 40);
  const Image with = draw_result(gray, with_crop(crop), {}, without_labels());
  const Image without = draw_result(gray, boxes_result(TaskKind::detect, width, height, {{10, 10, 40, 30}}),
                                    {}, without_labels());
  EXPECT_NE(level(with, 20, 20), level(without, 20, 20));
  EXPECT_EQ(level(with, 25, 20), level(without, 25, 20));
}

TEST(DrawnCrops, AreWrittenWithTheirLabels) {
  const TaskResult result = with_crop(classes_result(width, height, {1, 0}, {0.75f, 0.25f}));
  const std::string json = result_json({"a.png"}, result, {});
  EXPECT_NE(json.find(R"("then":{"top":[{"label":"green","class":1,"probability":0.75},)"), std::string::npos)
      << json;
  const TaskResult unseen = with_crop(classes_result(width, height, {}, {}), {});
  EXPECT_NE(result_json({"a.png"}, unseen, {}).find(R"("then":null)"), std::string::npos);
}

TEST(DrawnCrops, MismatchedPartsAreRefused) {
  const auto draw = [](const TaskResult& result) { draw_result(plain(width, height, 40), result, {}); };
  const TaskResult crop = classes_result(width, height, {1}, {0.5f});
  TaskResult result = with_crop(crop);
  result.crops.push_back(crop);
  LANNER_EXPECT_ERROR(draw(result), ErrorCode::invalid_argument, "2 crops for 1 boxes");
  result = with_crop(crop);
  result.crop_task = nullptr;
  LANNER_EXPECT_ERROR(draw(result), ErrorCode::invalid_argument, "crops without crop_task");
  LANNER_EXPECT_ERROR(draw(with_crop(crop, {50, 10, 30, 20})), ErrorCode::invalid_argument,
                      "a crop is at (50, 10) with 30x20 pixels, the picture has 60x40");
  LANNER_EXPECT_ERROR(draw(with_crop(boxes_result(TaskKind::detect, 30, 20, {{0, 0, 5, 5}}))),
                      ErrorCode::invalid_argument, "boxes of a crop are for a picture of 30x20");
  result = with_crop(crop);
  result.crops[0].crops.push_back(crop);
  LANNER_EXPECT_ERROR(draw(result), ErrorCode::invalid_argument, "a crop has crops");
}

} // namespace
} // namespace lanner
