#include <lanner/result_writer.h>

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "file_content.h"
#include "tasks/results.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using test::content_of;
using Json = nlohmann::json;

Task task_of(TaskKind kind, std::vector<std::string> labels = {}) {
  Task task;
  task.kind = kind;
  task.labels = std::move(labels);
  return task;
}

Json json_of(const TaskResult& result, const Task& task, const ImageSource& picture = {"a.png"}) {
  const std::string text = result_json(picture, result, task);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return Json::parse(text);
}

/// Writes results of pictures and returns the file's text.
std::string written(ResultFormat format, const Task& task,
                    const std::vector<std::pair<ImageSource, TaskResult>>& results) {
  const TemporaryFolder folder;
  ResultWriter writer(folder / "out", format, task);
  for (const auto& [picture, result] : results) writer.write(picture, result);
  EXPECT_FALSE(std::filesystem::exists(folder / "out")) << "before finish()";
  writer.finish();
  return content_of(folder / "out");
}

TaskResult pose() {
  TaskResult result = boxes_result(TaskKind::pose, 100, 50, {{10, 10, 30, 40}});
  result.keypoints = Tensor::from<float>(std::vector<float>{20, 25, 0.9f, 12, 30, 0.1f}, {1, 2, 3});
  return result;
}

TaskResult semantic() {
  TaskResult result = result_of(TaskKind::semantic, 4, 2);
  result.classes = Tensor::from<std::int32_t>(std::vector<std::int32_t>{0, 0, 0, 1, 0, 0, 1, 7}, {2, 4});
  return result;
}

TaskResult depth() {
  TaskResult result = result_of(TaskKind::depth, 2, 2);
  result.depth = Tensor::from<float>(std::vector<float>{1, 2.5f, NAN, 4}, {2, 2});
  return result;
}

TaskResult embedding(std::vector<float> values) {
  TaskResult result = result_of(TaskKind::embed, 2, 2);
  result.embedding = Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())});
  return result;
}

TEST(ResultJson, ClassesKeepTheirFormat) {
  EXPECT_EQ(
      result_json({"dir/a.png"}, classes_result(20, 10, {2, 0}, {0.75f, 0.1f}),
                  task_of(TaskKind::classify, {"red"})),
      R"({"source":"dir/a.png","frame":0,"pts":null,"width":20,"height":10,"top":[)"
      R"({"label":"class 2","class":2,"probability":0.75},{"label":"red","class":0,"probability":0.1}]})");
}

TEST(ResultJson, DetectionsKeepTheirFormat) {
  EXPECT_EQ(result_json({"c.mp4", false, 12, 0.5}, boxes_result(TaskKind::detect, 20, 10, {{1, 2.5f, 3, 4}}),
                        task_of(TaskKind::detect, {"cat"})),
            R"({"source":"c.mp4","frame":12,"pts":0.5,"width":20,"height":10,"detections":[)"
            R"({"label":"cat","class":0,"score":0.9,"box":[1.0,2.5,3.0,4.0]}]})");
  EXPECT_EQ(json_of(boxes_result(TaskKind::detect, 20, 10, {}), task_of(TaskKind::detect))["detections"],
            Json::array());
}

TEST(ResultJson, EachKindWritesItsParts) {
  const Json segment = json_of(masks_result(4, 3, {mask_of(1, 1, {"##", "#."})}), task_of(TaskKind::segment));
  EXPECT_EQ(segment["detections"][0]["mask"], (Json{{"size", {3, 4}}, {"counts", "421O3"}}));
  const Json turned = json_of(rotated_result(100, 100, {{50, 40, 20, 10, 0}}), task_of(TaskKind::obb));
  EXPECT_EQ(turned["detections"][0]["rotated"], (Json{50, 40, 20, 10, 0}));
  EXPECT_EQ(turned["detections"][0]["box"], (Json{40, 35, 60, 45}));
  EXPECT_EQ(json_of(pose(), task_of(TaskKind::pose))["detections"][0]["keypoints"],
            (Json{{20.0, 25.0, 0.9}, {12.0, 30.0, 0.1}}));
  EXPECT_EQ(json_of(semantic(), task_of(TaskKind::semantic, {"road"}))["classes"],
            (Json{{{"label", "road"}, {"class", 0}, {"share", 0.625}},
                  {{"label", "class 1"}, {"class", 1}, {"share", 0.25}},
                  {{"label", "class 7"}, {"class", 7}, {"share", 0.125}}}));
  EXPECT_EQ(json_of(depth(), task_of(TaskKind::depth))["depth"],
            (Json{{"min", 1}, {"max", 4}, {"mean", 2.5}, {"not_finite", 1}}));
  EXPECT_EQ(json_of(embedding({0.1f, NAN}), task_of(TaskKind::embed))["embedding"], (Json{0.1, nullptr}));
  TaskResult image = result_of(TaskKind::image, 4, 4);
  image.image = Image::allocate(PixelFormat::rgb24, 8, 6);
  EXPECT_EQ(json_of(image, task_of(TaskKind::image))["image"], (Json{{"width", 8}, {"height", 6}}));
}

TEST(ResultJson, LabelsOfAnyBytesGiveValidJson) {
  const Json json =
      json_of(classes_result(2, 2, {0}, {1}), task_of(TaskKind::classify, {"\"\xff\n\xd0\x96"}));
  EXPECT_EQ(json["top"][0]["label"], "\"\xef\xbf\xbd\n\xd0\x96");
}

TEST(ResultJson, MissingPartIsAnError) {
  LANNER_EXPECT_ERROR(result_json({"a"}, result_of(TaskKind::none, 1, 1), {}), ErrorCode::invalid_argument,
                      "none");
  LANNER_EXPECT_ERROR(result_json({"a"}, result_of(TaskKind::depth, 1, 1), {}), ErrorCode::invalid_argument,
                      "depth is missing, expected f32[1, 1]");
}

TEST(ResultWriter, JsonIsALineForEachPicture) {
  const Task task = task_of(TaskKind::classify);
  const TaskResult result = classes_result(2, 2, {0}, {1});
  const std::string line = result_json({"a.png"}, result, task) + "\n";
  EXPECT_EQ(written(ResultFormat::json, task, {{{"a.png"}, result}, {{"a.png"}, result}}), line + line);
}

TEST(ResultWriter, CsvHasARowForEachAnswer) {
  EXPECT_EQ(written(ResultFormat::csv, task_of(TaskKind::classify, {"say \"hi\"", "a,b"}),
                    {{{"x,y.png"}, classes_result(2, 2, {1, 0}, {0.5f, 0.25f})}}),
            "source,frame,pts,rank,class,label,probability\n"
            "\"x,y.png\",0,,1,1,\"a,b\",0.5\n\"x,y.png\",0,,2,0,\"say \"\"hi\"\"\",0.25\n");
  EXPECT_EQ(
      written(ResultFormat::csv, task_of(TaskKind::detect, {"cat"}),
              {{{"c.mp4", false, 3, 0.1}, boxes_result(TaskKind::detect, 20, 10, {{1, 2, 3, 4.5f}})},
               {{"c.mp4", false, 4, 0.2}, boxes_result(TaskKind::detect, 20, 10, {})}}),
      "source,frame,pts,index,class,label,score,left,top,right,bottom\nc.mp4,3,0.1,0,0,cat,0.9,1,2,3,4.5\n");
  EXPECT_EQ(
      written(ResultFormat::csv, task_of(TaskKind::pose), {{{"a"}, pose()}}),
      "source,frame,pts,index,class,label,score,left,top,right,bottom,x0,y0,confidence0,x1,y1,confidence1\n"
      "a,0,,0,0,class 0,0.9,10,10,30,40,20,25,0.9,12,30,0.1\n");
  EXPECT_EQ(written(ResultFormat::csv, task_of(TaskKind::segment),
                    {{{"a"}, masks_result(4, 3, {mask_of(1, 1, {"##", "#."})})}}),
            "source,frame,pts,index,class,label,score,left,top,right,bottom,pixels\na,0,,0,0,class "
            "0,0.9,1,1,3,3,3\n");
  EXPECT_EQ(
      written(ResultFormat::csv, task_of(TaskKind::obb),
              {{{"a"}, rotated_result(100, 100, {{50, 40, 20, 10, 0}})}}),
      "source,frame,pts,index,class,label,score,left,top,right,bottom,center_x,center_y,width,height,angle\n"
      "a,0,,0,0,class 0,0.9,40,35,60,45,50,40,20,10,0\n");
  EXPECT_EQ(written(ResultFormat::csv, task_of(TaskKind::depth), {{{"a"}, depth()}}),
            "source,frame,pts,min,max,mean,not_finite\na,0,,1,4,2.5,1\n");
  EXPECT_EQ(written(ResultFormat::csv, task_of(TaskKind::semantic), {{{"a"}, semantic()}}),
            "source,frame,pts,class,label,share\na,0,,0,class 0,0.625\na,0,,1,class 1,0.25\na,0,,7,class "
            "7,0.125\n");
  EXPECT_EQ(written(ResultFormat::csv, task_of(TaskKind::embed), {{{"a"}, embedding({0.1f, 2})}}),
            "source,frame,pts,e0,e1\na,0,,0.1,2\n");
  EXPECT_EQ(written(ResultFormat::csv, task_of(TaskKind::detect), {}), "source,frame,pts\n");
}

TEST(ResultWriter, CsvRefusesRowsOfOtherLengths) {
  LANNER_EXPECT_ERROR(written(ResultFormat::csv, task_of(TaskKind::embed),
                              {{{"a"}, embedding({1})}, {{"b"}, embedding({1, 2})}}),
                      ErrorCode::invalid_argument, "5 columns after others with 4");
}

TEST(ResultWriter, CocoAnnotationsReferToImagesAndCategories) {
  const Json json = Json::parse(
      written(ResultFormat::coco, task_of(TaskKind::detect, {"cat", "dog"}),
              {{{"in/a.jpg"}, boxes_result(TaskKind::detect, 20, 10, {{1, 2, 4, 6}, {0, 0, 5, 5}}, {1, 7})},
               {{"in/c.mp4", false, 12, 0.5}, boxes_result(TaskKind::detect, 30, 40, {})},
               {{"in/c.mp4", false, 13, 0.6}, boxes_result(TaskKind::detect, 30, 40, {{2, 2, 3, 3}}, {0})}}));
  ASSERT_EQ(json["images"].size(), 3u);
  EXPECT_EQ(json["images"][0], (Json{{"id", 1},
                                     {"file_name", "a.jpg"},
                                     {"width", 20},
                                     {"height", 10},
                                     {"source", "in/a.jpg"},
                                     {"frame", 0}}));
  EXPECT_EQ(json["images"][1]["file_name"], "c_000012.jpg");
  EXPECT_EQ(json["images"][2]["pts"], 0.6);
  ASSERT_EQ(json["annotations"].size(), 3u);
  EXPECT_EQ(json["annotations"][0], (Json{{"id", 1},
                                          {"image_id", 1},
                                          {"category_id", 2},
                                          {"bbox", {1, 2, 3, 4}},
                                          {"area", 12},
                                          {"iscrowd", 0},
                                          {"score", 0.9}}));
  EXPECT_EQ(json["annotations"][2]["image_id"], 3);
  EXPECT_EQ(json["annotations"][2]["id"], 3);
  EXPECT_EQ(
      json["categories"],
      (Json{{{"id", 1}, {"name", "cat"}}, {{"id", 2}, {"name", "dog"}}, {{"id", 8}, {"name", "class 7"}}}));
}

TEST(ResultWriter, CocoHoldsMasksKeyPointsAndRotatedBoxes) {
  const Json masks = Json::parse(written(ResultFormat::coco, task_of(TaskKind::segment),
                                         {{{"a.png"}, masks_result(4, 3, {mask_of(1, 1, {"##", "#."})})}}));
  EXPECT_EQ(masks["annotations"][0]["segmentation"], (Json{{"size", {3, 4}}, {"counts", "421O3"}}));
  EXPECT_EQ(masks["annotations"][0]["area"], 3);
  Task task = task_of(TaskKind::pose, {"person"});
  task.skeleton = {{0, 1}};
  const Json points = Json::parse(written(ResultFormat::coco, task, {{{"a.png"}, pose()}}));
  EXPECT_EQ(points["annotations"][0]["keypoints"], (Json{20, 25, 2, 12, 30, 1}));
  EXPECT_EQ(points["annotations"][0]["num_keypoints"], 2);
  EXPECT_EQ(points["categories"][0]["keypoints"], (Json{"0", "1"}));
  EXPECT_EQ(points["categories"][0]["skeleton"], (Json{{1, 2}}));
  const Json turned = Json::parse(written(ResultFormat::coco, task_of(TaskKind::obb),
                                          {{{"a.png"}, rotated_result(100, 100, {{50, 40, 20, 10, 0}})}}));
  EXPECT_EQ(turned["annotations"][0]["segmentation"], (Json{{40, 35, 60, 35, 60, 45, 40, 45}}));
  EXPECT_EQ(turned["annotations"][0]["area"], 200);
}

TEST(ResultWriter, CocoWithoutPicturesIsValid) {
  const Json json = Json::parse(written(ResultFormat::coco, task_of(TaskKind::detect), {}));
  EXPECT_EQ(json,
            (Json{{"images", Json::array()}, {"annotations", Json::array()}, {"categories", Json::array()}}));
}

class YoloFolder : public testing::Test {
protected:
  std::string content(const char* name) const { return content_of(folder / "labels" / name); }
  void write(const Task& task, const std::vector<std::pair<ImageSource, TaskResult>>& results) const {
    ResultWriter writer(folder / "labels", ResultFormat::yolo, task);
    for (const auto& [picture, result] : results) writer.write(picture, result);
    writer.finish();
  }
  TemporaryFolder folder;
};

TEST_F(YoloFolder, HasAFileForEachPicture) {
  write(task_of(TaskKind::detect, {"cat", "d\nog"}),
        {{{"in/a.b.jpg"}, boxes_result(TaskKind::detect, 20, 10, {{1, 2, 5, 6}, {0, 0, 20, 10}}, {3, 1})},
         {{"in/c.mp4", false, 12, 0.5}, boxes_result(TaskKind::detect, 30, 40, {})}});
  EXPECT_EQ(content("a.b.txt"), "3 0.15 0.4 0.2 0.4 0.9\n1 0.5 0.5 1 1 0.8\n");
  EXPECT_EQ(content("c_000012.txt"), "");
  EXPECT_EQ(content("classes.txt"), "cat\nd og\n");
}

TEST_F(YoloFolder, HoldsMasksKeyPointsAndRotatedBoxes) {
  write(task_of(TaskKind::segment),
        {{{"m.png"}, masks_result(10, 10, {mask_of(1, 2, {"###", "###"}), mask_of(5, 5, {"..", ".."})})}});
  EXPECT_EQ(content("m.txt"),
            "0 0.1 0.2 0.4 0.2 0.4 0.4 0.1 0.4 0.9\n1 0.5 0.5 0.7 0.5 0.7 0.7 0.5 0.7 0.8\n");
  write(task_of(TaskKind::pose), {{{"p.png"}, pose()}});
  EXPECT_EQ(content("p.txt"), "0 0.2 0.5 0.2 0.6 0.2 0.5 0.9 0.12 0.6 0.1 0.9\n");
  write(task_of(TaskKind::obb), {{{"o.png"}, rotated_result(100, 100, {{50, 40, 20, 10, 0}})}});
  EXPECT_EQ(content("o.txt"), "0 0.4 0.35 0.6 0.35 0.6 0.45 0.4 0.45 0.9\n");
}

TEST_F(YoloFolder, EqualFileNamesAreRefused) {
  const TaskResult result = boxes_result(TaskKind::detect, 20, 10, {});
  LANNER_EXPECT_ERROR(write(task_of(TaskKind::detect), {{{"a/x.png"}, result}, {{"b/x.png"}, result}}),
                      ErrorCode::invalid_argument, "a/x.png and b/x.png");
  LANNER_EXPECT_ERROR(write(task_of(TaskKind::detect), {{{"classes.png"}, result}}),
                      ErrorCode::invalid_argument, "rename classes.png");
}

TEST(ResultWriter, FormatNamesRoundTrip) {
  for (const ResultFormat format :
       {ResultFormat::json, ResultFormat::csv, ResultFormat::coco, ResultFormat::yolo})
    EXPECT_EQ(parse_result_format(to_string(format)), format);
  LANNER_EXPECT_ERROR(parse_result_format("xml"), ErrorCode::invalid_argument, "json, csv, coco or yolo");
}

TEST(ResultWriter, UnsupportedTaskIsRefusedAtOpening) {
  const TemporaryFolder folder;
  const auto open = [&](ResultFormat format, const Task& task) { ResultWriter(folder / "x", format, task); };
  LANNER_EXPECT_ERROR(open(ResultFormat::coco, task_of(TaskKind::classify)), ErrorCode::invalid_argument,
                      "coco cannot hold results of the task classify; json can");
  LANNER_EXPECT_ERROR(open(ResultFormat::yolo, task_of(TaskKind::depth)), ErrorCode::invalid_argument,
                      "yolo");
  LANNER_EXPECT_ERROR(open(ResultFormat::csv, task_of(TaskKind::image)), ErrorCode::invalid_argument, "csv");
  LANNER_EXPECT_ERROR(open(ResultFormat::json, task_of(TaskKind::none)), ErrorCode::invalid_argument,
                      "expected another task");
  LANNER_EXPECT_ERROR(open(ResultFormat::json, {}), ErrorCode::invalid_argument, "no kind");
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(ResultWriter, OtherKindsAndWritesAfterFinishAreRefused) {
  const TemporaryFolder folder;
  ResultWriter writer(folder / "x", ResultFormat::json, task_of(TaskKind::detect));
  LANNER_EXPECT_ERROR(writer.write({"a"}, classes_result(1, 1, {0}, {1})), ErrorCode::invalid_argument,
                      "expected a result of the task detect, got classify");
  writer.finish();
  LANNER_EXPECT_ERROR(writer.write({"a"}, boxes_result(TaskKind::detect, 1, 1, {})),
                      ErrorCode::invalid_argument, "after finish");
  LANNER_EXPECT_ERROR(writer.finish(), ErrorCode::invalid_argument, "finished before");
}

TEST(ResultWriter, WithoutFinishNoFileRemains) {
  const TemporaryFolder folder;
  for (const ResultFormat format : {ResultFormat::json, ResultFormat::csv, ResultFormat::coco}) {
    ResultWriter writer(folder / "x", format, task_of(TaskKind::detect));
    writer.write({"a"}, boxes_result(TaskKind::detect, 1, 1, {{0, 0, 1, 1}}));
  }
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(ImageSource, StemsOfSources) {
  EXPECT_EQ((ImageSource{"a/b.c.png"}).stem(), "b.c");
  EXPECT_EQ((ImageSource{"clip.mp4", false, 7}).stem(), "clip_000007");
  EXPECT_EQ((ImageSource{"clip.mp4", false, 12345678}).stem(), "clip_12345678");
  EXPECT_EQ((ImageSource{""}).stem(), "picture");
}

} // namespace
} // namespace lanner
