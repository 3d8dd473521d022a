#include <lanner/task.h>

#include <fmt/format.h>

#include "tasks/declare/names.h"

namespace lanner {
namespace {

constexpr std::string_view kind_names[] = {"classify", "detect", "segment", "semantic", "depth",
                                           "image",    "pose",   "obb",     "embed",    "none"};
constexpr std::string_view head_names[] = {
    "boxes_scores", "yolo_v5",   "yolo_v5_raw", "yolo_v8",    "yolo_v10",      "detr",     "rt_detr",
    "ssd",          "retinanet", "torchvision", "tensorflow", "efficient_nms", "centernet"};
constexpr std::string_view form_names[] = {"xyxy", "yxyx", "xywh", "cxcywh"};
constexpr std::string_view activation_names[] = {"none", "sigmoid", "softmax"};

} // namespace

std::string_view to_string(TaskKind kind) noexcept {
  return tasks::name_of(kind, kind_names);
}
bool has_boxes(TaskKind kind) noexcept {
  return kind == TaskKind::detect || kind == TaskKind::segment || kind == TaskKind::pose ||
         kind == TaskKind::obb;
}

TaskKind parse_task_kind(std::string_view name) {
  return tasks::value_of<TaskKind>("task", name, kind_names);
}

std::string_view to_string(Head head) noexcept {
  return tasks::name_of(head, head_names);
}
Head parse_head(std::string_view name) {
  return tasks::value_of<Head>("head", name, head_names);
}

std::string_view to_string(BoxForm form) noexcept {
  return tasks::name_of(form, form_names);
}
BoxForm parse_box_form(std::string_view name) {
  return tasks::value_of<BoxForm>("box form", name, form_names);
}

std::string_view to_string(Activation activation) noexcept {
  return tasks::name_of(activation, activation_names);
}
Activation parse_activation(std::string_view name) {
  return tasks::value_of<Activation>("activation", name, activation_names);
}

} // namespace lanner
