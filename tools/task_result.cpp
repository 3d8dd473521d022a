#include "task_result.h"

#include <lanner/draw.h>

namespace lanner::tool {

lanner::Task to_task(const Task& task) {
  lanner::Task result;
  result.kind = task.kind == TaskKind::classify ? lanner::TaskKind::classify
                : task.kind == TaskKind::detect ? lanner::TaskKind::detect
                                                : lanner::TaskKind::none;
  result.labels = task.labels;
  return result;
}

TaskResult to_result(const Task& task, const std::vector<Answer>& answers, std::int32_t width,
                     std::int32_t height) {
  TaskResult result;
  result.kind = *to_task(task).kind;
  result.width = width;
  result.height = height;
  std::vector<std::int64_t> labels;
  std::vector<float> scores, boxes;
  for (const Answer& answer : answers) {
    labels.push_back(answer.number);
    scores.push_back(static_cast<float>(answer.score));
    for (const double edge : answer.box) boxes.push_back(static_cast<float>(edge));
  }
  const auto count = static_cast<std::int64_t>(answers.size());
  result.labels = Tensor::from<std::int64_t>(labels, {count});
  result.scores = Tensor::from<float>(scores, {count});
  if (task.kind == TaskKind::detect) result.boxes = Tensor::from<float>(boxes, {count, 4});
  return result;
}

Image annotate(const Image& picture, const Task& task, const std::vector<Answer>& answers) {
  if (task.kind != TaskKind::none)
    return draw_result(picture, to_result(task, answers, picture.width, picture.height), to_task(task));
  Image copy = Image::allocate(PixelFormat::rgb24, picture.width, picture.height);
  if (picture.format == copy.format)
    copy_image(picture, copy);
  else
    convert_image(picture, copy);
  return copy;
}

} // namespace lanner::tool
