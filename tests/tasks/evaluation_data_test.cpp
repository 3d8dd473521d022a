// Datasets on the disk, valid and damaged.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lanner/cancel.h>
#include <lanner/error.h>
#include <lanner/evaluation.h>

#include "base/limits/account.h"
#include "expect_error.h"
#include "tasks/evaluation/runs.h"
#include "tasks/evaluation/yolo_names.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

Task task_of(TaskKind kind, std::vector<std::string> labels = {}) {
  Task task;
  task.kind = kind;
  task.labels = std::move(labels);
  return task;
}

TEST(EvaluationData, YamlNamesAreParsed) {
  const auto facts =
      tasks::read_yolo_facts("# comment\npath: ../set # where\ntrain: images/train\nval: 'images/val'\n"
                             "names:\n  0: person\n  1: \"traffic light\"\n  2: it's # here\nnc: 3\n");
  EXPECT_EQ(facts.path, "../set");
  EXPECT_EQ(facts.val, "images/val");
  EXPECT_EQ(facts.names, (std::vector<std::string>{"person", "traffic light", "it's"}));
  const std::vector<std::string> two{"a b", "c, d"};
  EXPECT_EQ(tasks::read_yolo_facts("names: [a b, 'c, d']").names, two);
  EXPECT_EQ(tasks::read_yolo_facts("names: {0: a b,\n  1: 'c, d'}\n").names, two);
  EXPECT_EQ(tasks::read_yolo_facts("names:\n- a b\n- c, d\n").names, two);
  EXPECT_THROW(tasks::read_yolo_facts("names: [a, b"), Error);
  EXPECT_THROW(tasks::read_yolo_facts("names:\n  1: a\n"), Error);
  EXPECT_THROW(tasks::read_yolo_facts("names:\n  9999999999: a\n"), Error);
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string message_of(const std::filesystem::path& data, const Task& task,
                       const DatasetOptions& options = {}) {
  try {
    Dataset::open(data, task, options);
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

TEST(EvaluationData, FoldersAreClasses) {
  const TemporaryFolder folder;
  for (const char* name :
       {"dog/a.png", "Guinea-Pig/b.png", "dog/sub/c.JPG", "dog/notes.txt", "dog/.hidden.png"})
    write(folder.path() / name, "x");
  const Task task = task_of(TaskKind::classify, {"cat", "dog", "guinea pig, Cavia"});
  const Dataset data = Dataset::open(folder.path(), task);
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data.truth(0, 1, 1).label, 2);
  EXPECT_EQ(data.truth(1, 1, 1).label, 1);
  EXPECT_NE(data.notes().at(0).find("3 pictures in 2 folders, which are classes by name"), std::string::npos);
  EXPECT_NE(
      message_of(folder.path(), task_of(TaskKind::classify, {"dogs", "guinea pig"})).find("did you mean"),
      std::string::npos);
  DatasetOptions options;
  options.classes = 2;
  EXPECT_EQ(Dataset::open(folder.path(), task_of(TaskKind::classify), options).truth(0, 1, 1).label, 0);
  options.classes = 3;
  EXPECT_NE(message_of(folder.path(), task_of(TaskKind::classify), options)
                .find("got 2 folders of classes, the network has 3"),
            std::string::npos);
  EXPECT_NE(message_of(folder.path() / "none", task).find("no such file or folder"), std::string::npos);
}

TEST(EvaluationData, NumberedFoldersAreInTheOrderOfTheirNumbers) {
  const TemporaryFolder folder;
  for (const char* name : {"1/a.png", "2/b.png", "3/c.png"}) write(folder.path() / name, "x");
  const Task task = task_of(TaskKind::classify);
  const Dataset data = Dataset::open(folder.path(), task);
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data.truth(0, 1, 1).label, 0);
  EXPECT_EQ(data.truth(2, 1, 1).label, 2);
  write(folder.path() / "10/d.png", "x");
  EXPECT_NE(message_of(folder.path(), task).find("numbers that sort differently as text"), std::string::npos);
}

nlohmann::json small_coco() {
  return nlohmann::json::parse(R"({"images": [{"id": 7, "file_name": "b.png", "width": 20, "height": 10},
      {"id": 3, "file_name": "a.png"}],
    "categories": [{"id": 5, "name": "dog"}, {"id": 2, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 7, "category_id": 5, "bbox": [1, 2, 3, 4], "area": 9, "iscrowd": 1,
      "segmentation": {"size": [10, 20], "counts": [0, 10, 190]}, "keypoints": [1, 2, 2, 3, 4, 0]}]})");
}

TEST(EvaluationData, CocoIsRead) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "labels.json";
  write(folder.path() / "images/a.png", "x");
  write(file, small_coco().dump());
  Dataset data = Dataset::open(file, task_of(TaskKind::segment, {"cat", "dog"}));
  ASSERT_EQ(data.size(), 2u); // By id.
  EXPECT_TRUE(data.picture(0).ends_with("images/a.png"));
  EXPECT_TRUE(data.truth(0, 30, 30).objects.empty());
  const GroundTruth truth = data.truth(1, 20, 10);
  ASSERT_EQ(truth.objects.size(), 1u);
  EXPECT_EQ(truth.objects[0].label, 1);
  EXPECT_TRUE(truth.objects[0].crowd);
  EXPECT_EQ(truth.objects[0].area, 9);
  EXPECT_EQ(truth.objects[0].mask, (tasks::Runs{0, 10, 190}));
  EXPECT_THROW(data.truth(1, 21, 10), Error);
  EXPECT_EQ(Dataset::open(file, task_of(TaskKind::detect)).truth(1, 20, 10).objects[0].label,
            1); // In the order of ids.
  Task pose = task_of(TaskKind::pose, {"cat", "dog"});
  EXPECT_EQ(Dataset::open(file, pose).truth(1, 20, 10).objects[0].keypoints.at(1)[1], 4);
}

TEST(EvaluationData, CocoIdsAreClassesOnlyWithoutLabels) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "labels.json";
  write(folder.path() / "a.png", "x");
  write(file, small_coco().dump());
  const auto label = [&](std::vector<std::string> labels) {
    Task task = task_of(TaskKind::detect, std::move(labels));
    task.first_class = 1;
    return Dataset::open(file, task).truth(1, 20, 10).objects.at(0).label;
  };
  EXPECT_EQ(label({"one", "two"}), 1); // In the order of ids.
  EXPECT_EQ(label({}), 4);             // By id, less one.
}

TEST(EvaluationData, PolygonsEndWithTheDeadline) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "labels.json";
  write(folder.path() / "a.png", "x");
  nlohmann::json json = small_coco();
  const nlohmann::json annotation = json["annotations"][0];
  for (int i = 2; i < 50; ++i) {
    json["annotations"].push_back(annotation);
    json["annotations"].back()["id"] = i;
  }
  for (auto& one : json["annotations"])
    one["segmentation"] = nlohmann::json::parse("[[0, 0, 1000, 5, 1000, 10, 0, 10]]");
  write(file, json.dump());
  const Dataset data = Dataset::open(file, task_of(TaskKind::segment, {"cat", "dog"}));
  EXPECT_EQ(data.truth(1, 20, 10).objects.size(), 49u);
  {
    const CancelToken cancel = CancelToken::create();
    cancel.cancel();
    const DeadlineScope scope(Limits{}, cancel);
    LANNER_EXPECT_ERROR(data.truth(1, 20, 10), ErrorCode::cancelled, "cancelled by the caller");
  }
  Limits limits;
  limits.seconds = 1e-9;
  const DeadlineScope scope(limits);
  LANNER_EXPECT_ERROR(data.truth(1, 20, 10), ErrorCode::limit_exceeded, "--limit seconds=N");
}

TEST(EvaluationData, DamagedCocoIsRefused) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "labels.json";
  write(folder.path() / "a.png", "x");
  const Task task = task_of(TaskKind::segment, {"cat", "dog"});
  const auto refused = [&](auto change, const char* words) {
    nlohmann::json json = small_coco();
    change(json);
    write(file, json.dump());
    std::string said = message_of(file, task);
    if (said.empty()) {
      try {
        Dataset::open(file, task).truth(1, 20, 10);
      } catch (const Error& error) {
        said = error.message();
      }
    }
    EXPECT_NE(said.find(words), std::string::npos) << words << " in: " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  };
  refused([](auto& json) { json["images"][0]["file_name"] = "../a.png"; }, "leaves the folder");
  refused([](auto& json) { json["images"][0]["file_name"] = "/etc/passwd"; }, "leaves the folder");
  refused([](auto& json) { json["images"][0]["id"] = 3; }, "comes twice");
  refused([](auto& json) { json["annotations"][0]["image_id"] = 4; }, "image_id 4");
  refused([](auto& json) { json["annotations"][0]["category_id"] = 4; }, "category_id 4");
  refused([](auto& json) { json["annotations"][0]["bbox"] = {1, 2, -3, 4}; }, "bbox");
  refused([](auto& json) { json["annotations"][0]["bbox"] = {1, 2, 1e300, 4}; }, "expected at most");
  refused([](auto& json) { json["annotations"][0]["segmentation"]["counts"] = {0, 10, 191}; }, "run lengths");
  refused([](auto& json) { json["annotations"][0]["segmentation"]["counts"] = "zzzz"; }, "run lengths");
  refused([](auto& json) { json["annotations"][0]["segmentation"] = {{1, 2, 3}}; }, "polygon");
  refused([](auto& json) { json["annotations"][0].erase("segmentation"); }, "segmentation");
  refused([](auto& json) { json["categories"][0]["name"] = "dgo"; }, "did you mean dog?");
  refused([](auto& json) { json = {1, 2}; }, "expected COCO's JSON");
}

TEST(EvaluationData, YoloIsRead) {
  const TemporaryFolder folder;
  for (const char* name : {"images/val/a.png", "images/val/b.png", "images/train/c.png"})
    write(folder.path() / name, "x");
  write(folder.path() / "labels/val/a.txt", "1 0.5 0.5 0.2 0.4\n\n0 0.1 0.1 0.3 0.1 0.3 0.5\n");
  write(folder.path() / "data.yaml", "val: images/val\nnames: [dog, cat]\n");
  const Task task = task_of(TaskKind::detect, {"cat", "dog"});
  for (const auto& path : {folder.path(), folder.path() / "data.yaml"}) {
    const Dataset data = Dataset::open(path, task);
    ASSERT_EQ(data.size(), 2u);
    const GroundTruth truth = data.truth(0, 100, 50);
    ASSERT_EQ(truth.objects.size(), 2u);
    EXPECT_EQ(truth.objects[0].label, 0);
    EXPECT_NEAR(truth.objects[0].box[1], 15, 1e-9);
    EXPECT_EQ(truth.objects[1].label, 1);
    EXPECT_NEAR(truth.objects[1].box[2], 20, 1e-9);
    EXPECT_TRUE(data.truth(1, 100, 50).objects.empty());
    EXPECT_NE(data.notes().back().find("1 picture without a label file"), std::string::npos);
  }
  const auto refused = [&](const char* line, const char* words) {
    write(folder.path() / "labels/val/a.txt", line);
    try {
      Dataset::open(folder.path(), task).truth(0, 100, 50);
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("a.txt:1"), std::string::npos) << error.message();
    }
  };
  refused("0 1 2", "four numbers");
  refused("0 320 240 20 20", "expected a coordinate relative to the image");
  refused("2 0.5 0.5 0.1 0.1", "class 2");
  refused("-1 0.5 0.5 0.1 0.1", "class -1");
  refused("0 a b c d", "expected numbers");
  refused("0 nan 0.5 0.1 0.1", "expected numbers");
  refused("0 0.5 0.5 0.1 0.1 0.1", "polygon");
}

TEST(EvaluationData, YoloLinesOfEachKind) {
  const TemporaryFolder folder;
  write(folder.path() / "images/a.png", "x");
  const auto truth_of = [&](TaskKind kind, const char* line) {
    write(folder.path() / "labels/a.txt", line);
    Task task = task_of(kind);
    if (kind == TaskKind::pose) task.keypoints = 2;
    return Dataset::open(folder.path(), task).truth(0, 100, 50).objects.at(0);
  };
  const GroundTruthObject segment = truth_of(TaskKind::segment, "0 0.1 0.1 0.3 0.1 0.3 0.5 0.1 0.5\n");
  EXPECT_EQ(segment.area, 400);
  EXPECT_EQ(tasks::bounds_of(segment.mask, 50), (std::array<double, 4>{10, 5, 20, 20}));
  const GroundTruthObject turned = truth_of(TaskKind::obb, "0 0.1 0.1 0.3 0.1 0.3 0.5 0.1 0.5");
  ASSERT_TRUE(turned.rotated.has_value());
  EXPECT_NEAR((*turned.rotated)[0], 20, 1e-4);
  EXPECT_NEAR((*turned.rotated)[3], 20, 1e-4);
  const GroundTruthObject pose = truth_of(TaskKind::pose, "0 0.5 0.5 0.2 0.4 0.45 0.4 2 0 0 0");
  EXPECT_NEAR(pose.area, 20 * 20 * 0.53, 1e-9);
  EXPECT_EQ(pose.keypoints.size(), 2u);
  EXPECT_EQ(pose.keypoints[0][2], 2);
  EXPECT_EQ(truth_of(TaskKind::pose, "0 0.5 0.5 0.2 0.4 0.45 0.4 0 0").keypoints[1][2], 0);
  EXPECT_THROW(truth_of(TaskKind::pose, "0 0.5 0.5 0.2 0.4 0.45 0.4 2"), Error);
  EXPECT_THROW(truth_of(TaskKind::segment, "0 0.5 0.5 0.2 0.4"), Error);
  EXPECT_THROW(truth_of(TaskKind::obb, "0 0.5 0.5 0.2 0.4"), Error);
}

TEST(EvaluationData, OptionsThatDoNotApplyAreRefused) {
  const TemporaryFolder folder;
  write(folder.path() / "a/x.png", "x");
  DatasetOptions options;
  options.ignore = 0;
  EXPECT_NE(message_of(folder.path(), task_of(TaskKind::classify, {"a"}), options)
                .find("ignore is for task semantic"),
            std::string::npos);
  options = {};
  options.images = folder.path();
  EXPECT_NE(message_of(folder.path(), task_of(TaskKind::classify, {"a"}), options).find("images:"),
            std::string::npos);
}

} // namespace
} // namespace lanner
