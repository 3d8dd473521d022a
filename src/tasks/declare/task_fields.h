#pragma once
// Visits the fields of a task.

#include <optional>

#include <lanner/task.h>

namespace lanner::tasks {

/// Calls `visit(key, &Task::field)` for every field; the key is JSON's.
template<typename Visit>
void for_each_field(Visit&& visit) {
  visit("task", &Task::kind);
  visit("head", &Task::head);
  visit("outputs", &Task::outputs);
  visit("labels", &Task::labels);
  visit("top", &Task::top);
  visit("box_form", &Task::box_form);
  visit("box_normalised", &Task::box_normalised);
  visit("activation", &Task::activation);
  visit("background", &Task::background);
  visit("first_class", &Task::first_class);
  visit("anchors", &Task::anchors);
  visit("strides", &Task::strides);
  visit("box_scales", &Task::box_scales);
  visit("score_threshold", &Task::score_threshold);
  visit("iou_threshold", &Task::iou_threshold);
  visit("max_detections", &Task::max_detections);
  visit("class_agnostic", &Task::class_agnostic);
  visit("keypoints", &Task::keypoints);
  visit("keypoint_values", &Task::keypoint_values);
  visit("skeleton", &Task::skeleton);
  visit("channels_last", &Task::channels_last);
  visit("bgr", &Task::bgr);
  visit("range", &Task::range);
  visit("color_map", &Task::color_map);
}

template<typename T>
bool is_set(const std::optional<T>& value) {
  return value.has_value();
}
template<typename T>
bool is_set(const T& value) {
  return !value.empty();
}

/// Sets fields that `into` leaves open to those of `from`.
inline void fill(Task& into, const Task& from) {
  for_each_field([&](const char*, auto field) {
    if (!is_set(into.*field)) into.*field = from.*field;
  });
}

} // namespace lanner::tasks
