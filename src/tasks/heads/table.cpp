#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/check.h"
#include "tasks/heads/head.h"

namespace lanner::tasks {
namespace {

// In the order of Head.
const HeadRow* const table[] = {&boxes_scores_row, &yolo_v5_row,     &yolo_v5_raw_row, &yolo_v8_row,
                                &yolo_v10_row,     &detr_row,        &rt_detr_row,     &ssd_row,
                                &retinanet_row,    &torchvision_row, &tensorflow_row,  &efficient_nms_row,
                                &centernet_row};

} // namespace

std::span<const HeadRow* const> head_rows() {
  return table;
}

const HeadRow& head_row(Head head) {
  return *table[static_cast<std::size_t>(head)];
}

void Candidates::drop() {
  std::ranges::stable_sort(all_, std::ranges::greater{}, &Candidate::score);
  all_.resize(std::min(all_.size(), most_));
}

std::vector<Candidate> Candidates::take() {
  drop();
  return std::move(all_);
}

const Values& HeadRun::part(std::string_view name) const {
  const auto found = parts.find(name);
  check(found != parts.end(), ErrorCode::internal, "task: head {} has no part {}", to_string(*task.head),
        name);
  return found->second;
}

Reading reading_of(const HeadRow& row, TaskKind kind, std::int64_t classes, Ground ground,
                   std::initializer_list<std::pair<const std::string, std::string>> outputs) {
  Reading reading;
  reading.task.kind = kind;
  reading.task.head = row.head;
  reading.task.outputs = outputs;
  reading.classes = classes;
  reading.ground = ground;
  reading.text = fmt::format("{} by head {}", to_string(kind), to_string(row.head));
  if (classes >= 0) reading.text += fmt::format(" ({} {})", classes, classes == 1 ? "class" : "classes");
  return reading;
}

int first_class_of(const HeadRow& row, const Task& task) {
  if (task.first_class) return *task.first_class;
  const bool background =
      !task.labels.empty() && (task.labels[0] == "__background__" || task.labels[0] == "background");
  return background ? 0 : row.first_class;
}

std::int64_t named_classes(std::int64_t channels, int background, int first_class) {
  const bool last = background == last_class || (background >= 0 && background == channels - 1);
  return channels - first_class - (last ? 1 : 0);
}

void check_class_count(const Task& task, std::int64_t classes) {
  check(task.labels.empty() || classes == static_cast<std::int64_t>(task.labels.size()),
        ErrorCode::invalid_argument, "labels: {} were given, the model has {} classes", task.labels.size(),
        classes);
}

} // namespace lanner::tasks
