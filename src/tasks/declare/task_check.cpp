#include "tasks/declare/task_check.h"

#include <algorithm>
#include <cmath>

#include "tasks/declare/names.h"

namespace lanner::tasks {
namespace {

constexpr std::string_view color_maps[] = {"magma", "viridis", "turbo", "gray"};

class Checker {
public:
  explicit Checker(ErrorCode code) : code_(code) {}

  template<typename T, typename Bound>
  void within(const char* key, const std::optional<T>& value, Bound least, Bound most) const {
    // Written so that NaN is refused.
    if (value)
      check(*value >= static_cast<T>(least) && *value <= static_cast<T>(most), code_,
            "task: {} is {}, expected {} to {}", key, *value, least, most);
  }

  template<typename Values>
  void finite(const char* key, const Values& values) const {
    check(std::ranges::all_of(values, [](float v) { return std::isfinite(v); }), code_,
          "task: {} has a number that is not finite", key);
  }

  template<typename Values>
  void positive(const char* key, const Values& values) const {
    finite(key, values);
    check(std::ranges::all_of(values, [](float v) { return v > 0; }), code_,
          "task: {} has a number that is not above 0", key);
  }

private:
  ErrorCode code_;
};

} // namespace

void check_task(const Task& task, ErrorCode code) {
  const Checker checker(code);
  checker.within("top", task.top, 1, static_cast<int>(most_classes));
  checker.within("background", task.background, -1, static_cast<int>(most_classes));
  checker.within("first_class", task.first_class, 0, static_cast<int>(most_classes));
  checker.within("score_threshold", task.score_threshold, 0, 1);
  checker.within("iou_threshold", task.iou_threshold, 0, 1);
  checker.within("max_detections", task.max_detections, 1, most_detections);
  checker.within("keypoints", task.keypoints, 1, most_keypoints);
  checker.within("keypoint_values", task.keypoint_values, 2, 3);
  checker.finite("anchors", task.anchors);
  checker.positive("strides", task.strides);
  checker.positive("box_scales", task.box_scales);
  check(task.box_scales.empty() || task.box_scales.size() == 4, code,
        "task: box_scales has {} numbers, expected 4: of x, y, width, height", task.box_scales.size());
  check(static_cast<std::int64_t>(task.labels.size()) <= most_classes, code,
        "task: labels has {} names, expected at most {}", task.labels.size(), most_classes);
  for (const auto& [from, to] : task.skeleton)
    check(from >= 0 && to >= 0 && from < most_keypoints && to < most_keypoints, code,
          "task: skeleton has a line from {} to {}, expected indices of key points, from 0", from, to);
  if (task.range) {
    checker.finite("range", *task.range);
    check((*task.range)[0] != (*task.range)[1], code, "task: range is {}, {}: expected two different values",
          (*task.range)[0], (*task.range)[1]);
  }
  check(task.color_map.empty() || std::ranges::find(color_maps, task.color_map) != std::end(color_maps), code,
        "task: color_map is '{}', expected one of {}", one_line(task.color_map, shown_text),
        joined_names(color_maps));
}

} // namespace lanner::tasks
