// Which fields apply to which tasks.

#include <algorithm>
#include <span>

#include "base/check.h"
#include "tasks/declare/resolve.h"
#include "tasks/declare/task_fields.h"

namespace lanner::tasks {

bool scored_by_row(const Task& task) {
  return task.head == Head::boxes_scores || task.head == Head::detr || task.head == Head::rt_detr ||
         task.head == Head::ssd || task.head == Head::retinanet;
}
bool anchored(const Task& task) {
  return task.head == Head::ssd || task.head == Head::retinanet;
}

namespace {

using Uses = bool (*)(const Task& task);

bool of_boxes(const Task& task) {
  return task.head.has_value();
}
bool listed(const Task& task) {
  return task.head == Head::torchvision || task.head == Head::tensorflow || task.head == Head::efficient_nms;
}
bool boxed(const Task& task) { // Boxes given as numbers in an undeclared format.
  return task.head && task.head != Head::centernet && task.head != Head::yolo_v5_raw;
}

struct Use {
  std::string_view key;
  Uses used;
};
constexpr Use uses[] = {
    {"head", of_boxes},
    {"outputs", [](const Task& task) { return task.kind != TaskKind::none; }},
    {"labels", [](const Task&) { return true; }},
    {"top", [](const Task& task) { return task.kind == TaskKind::classify; }},
    {"box_form", boxed},
    {"box_normalised", [](const Task& task) { return boxed(task) && !anchored(task); }},
    {"activation",
     [](const Task& task) {
       return (task.head && task.head != Head::yolo_v5_raw) || task.kind == TaskKind::classify ||
              task.kind == TaskKind::semantic;
     }},
    {"background", [](const Task& task) { return scored_by_row(task) || listed(task); }},
    {"first_class",
     [](const Task& task) { return scored_by_row(task) || listed(task) || task.head == Head::yolo_v10; }},
    {"anchors", [](const Task& task) { return anchored(task) || task.head == Head::yolo_v5_raw; }},
    {"strides",
     [](const Task& task) { return task.head == Head::centernet || task.head == Head::yolo_v5_raw; }},
    {"box_scales", anchored},
    {"score_threshold", of_boxes},
    {"iou_threshold", of_boxes},
    {"max_detections", of_boxes},
    {"class_agnostic", of_boxes},
    {"keypoints", [](const Task& task) { return task.kind == TaskKind::pose; }},
    {"keypoint_values", [](const Task& task) { return task.kind == TaskKind::pose; }},
    {"skeleton", [](const Task& task) { return task.kind == TaskKind::pose; }},
    {"channels_last",
     [](const Task& task) { return task.kind == TaskKind::image || task.kind == TaskKind::semantic; }},
    {"bgr", [](const Task& task) { return task.kind == TaskKind::image; }},
    {"range", [](const Task& task) { return task.kind == TaskKind::image; }},
    {"color_map", [](const Task& task) { return task.kind == TaskKind::depth; }},
};

} // namespace

bool is_used(std::string_view key, const Task& task) {
  const auto use = std::ranges::find(uses, key, &Use::key);
  return use == std::end(uses) || use->used(task);
}

void check_used(const Task& given, const Task& found) {
  for_each_field([&](const char* key, auto field) {
    check(!is_set(given.*field) || is_used(key, found), ErrorCode::invalid_argument,
          "task {}{}: {} does not apply; leave it out", to_string(*found.kind),
          found.head ? ", head " + std::string(to_string(*found.head)) : std::string(), key);
  });
}

} // namespace lanner::tasks
