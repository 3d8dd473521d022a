#include <lanner/task.h>

#include <gtest/gtest.h>

#include "comma_locale.h"
#include "expect_error.h"

namespace lanner {
namespace {

Task full_task() {
  Task task;
  task.kind = TaskKind::pose;
  task.head = Head::yolo_v8;
  task.outputs = {{"boxes", "out \"0\""}, {"prototypes", "p"}};
  task.labels = {"a", "b\nc", "\xc3\xa4"};
  task.top = 3;
  task.box_form = BoxForm::yxyx;
  task.box_normalised = false;
  task.activation = Activation::softmax;
  task.background = -1;
  task.first_class = 1;
  task.anchors = {1.5f, 2, 0.1f};
  task.strides = {8, 16};
  task.box_scales = {10, 10, 5, 5};
  task.score_threshold = 0.3f;
  task.iou_threshold = 1;
  task.max_detections = 7;
  task.class_agnostic = true;
  task.keypoints = 17;
  task.keypoint_values = 2;
  task.skeleton = {{0, 1}, {1, 2}};
  task.channels_last = true;
  task.bgr = false;
  task.range = {-1.f, 1.f};
  task.color_map = "turbo";
  return task;
}

TEST(TaskJson, EveryFieldRoundTrips) {
  const Task task = full_task();
  EXPECT_EQ(Task::from_json(task.to_json()), task);
  EXPECT_EQ(task.to_json().find('\n'), std::string::npos);
}

TEST(TaskJson, DoesNotDependOnTheLocale) {
  const Task task = full_task();
  const std::string text = task.to_json();
  LANNER_WITH_DECIMAL_COMMA();
  EXPECT_EQ(task.to_json(), text);
  EXPECT_EQ(Task::from_json(text), task);
}

TEST(TaskJson, UnsetFieldsAreNotWritten) {
  EXPECT_EQ(Task().to_json(), "{}");
  EXPECT_EQ(Task::from_json("{}"), Task());
  Task task;
  task.kind = TaskKind::detect;
  task.score_threshold = 0.1f;
  EXPECT_EQ(task.to_json(), R"({"task":"detect","score_threshold":0.1})");
}

TEST(TaskJson, SingleWordIsTheKind) {
  for (const char* word :
       {"classify", "detect", "segment", "semantic", "depth", "image", "pose", "obb", "embed", "none"}) {
    const Task task = Task::from_json(word);
    EXPECT_EQ(to_string(*task.kind), word);
    EXPECT_EQ(Task::from_json(task.to_json()), task);
  }
  LANNER_EXPECT_ERROR(Task::from_json("detct"), ErrorCode::bad_data, "did you mean detect?");
}

TEST(TaskJson, EveryHeadHasAName) {
  for (int i = 0; i <= static_cast<int>(Head::centernet); ++i) {
    const Head head = static_cast<Head>(i);
    EXPECT_EQ(parse_head(to_string(head)), head);
  }
  LANNER_EXPECT_ERROR(parse_head("yolo"), ErrorCode::invalid_argument, "yolo_v8");
}

struct Refused {
  const char *json, *said;
};

TEST(TaskJson, InvalidValuesAreRefused) {
  const Refused cases[] = {
      {"", "json"},
      {"[1]", "expected a JSON object or a word"},
      {R"({"hed": "detr"})", "did you mean head?"},
      {R"({"head": "dter"})", "is not known"},
      {R"({"head": 3})", "expected a string"},
      {R"({"top": 0})", "expected 1 to"},
      {R"({"top": 1.5})", "expected a whole number"},
      {R"({"top": 99999999999999999999})", "expected a whole number"},
      {R"({"score_threshold": 7})", "expected 0 to 1"},
      {R"({"score_threshold": "0.5"})", "expected a number"},
      {R"({"anchors": [1, 1e300]})", "expected a number"},
      {R"({"anchors": 4})", "expected an array"},
      {R"({"strides": [0]})", "not above 0"},
      {R"({"box_scales": [1, 2]})", "expected 4"},
      {R"({"labels": ["a", 1]})", "expected a string"},
      {R"({"outputs": ["a"]})", "expected an object"},
      {R"({"outputs": {"boxes": 1}})", "expected a string"},
      {R"({"range": [1, 1]})", "two different values"},
      {R"({"range": [1]})", "two numbers"},
      {R"({"skeleton": [[0, 1, 2]]})", "two numbers"},
      {R"({"skeleton": [[0, -1]]})", "expected indices of key points, from 0"},
      {R"({"keypoint_values": 4})", "expected 2 to 3"},
      {R"({"color_map": "pink"})", "viridis"},
      {R"({"bgr": 1})", "true or false"},
      {R"({"task": "detect", "task": "none"})", "appears twice"},
  };
  for (const Refused& one : cases) {
    SCOPED_TRACE(one.json);
    LANNER_EXPECT_ERROR(Task::from_json(one.json), ErrorCode::bad_data, one.said);
  }
}

} // namespace
} // namespace lanner
