#include "tasks/heads/lists.h"

#include <algorithm>

#include "base/check.h"
#include "tasks/heads/boxes.h"
#include "tasks/heads/scores.h"

namespace lanner::tasks {

bool list_kind(const Facts& facts, bool masks, bool keypoints, TaskKind& kind) {
  kind = facts.wanted.kind.value_or(masks       ? TaskKind::segment
                                    : keypoints ? TaskKind::pose
                                                : TaskKind::detect);
  return kind == TaskKind::detect || (kind == TaskKind::segment && masks) ||
         (kind == TaskKind::pose && keypoints);
}

Candidates decode_lists(const HeadRun& run) {
  const Values &boxes = run.part("boxes"), &labels = run.part("labels"), &scores = run.part("scores");
  std::int64_t rows = scores.size();
  check(boxes.dim(1) == 4 && boxes.dim(0) == rows && labels.size() == rows, ErrorCode::invalid_argument,
        "head {}: boxes are {}, labels {} and scores {}, expected [K, 4], [K] and [K]",
        to_string(*run.task.head), boxes.shape().to_string(), labels.shape().to_string(),
        scores.shape().to_string());
  if (run.has("count")) {
    const Values& count = run.part("count");
    check(count.size() == 1 && count[0] >= 0 && count[0] <= static_cast<float>(rows), ErrorCode::bad_data,
          "head {}: the number of detections is {}, expected 0 to {}", to_string(*run.task.head),
          count.size() > 0 ? count[0] : 0, rows);
    rows = std::lround(count[0]);
  }
  const BoxReader box(run, boxes, 0, 4);
  const ScoreScale scale(*run.task.activation, run.threshold);
  Candidates found(run.most);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!std::isfinite(scores[row])) fail_not_finite(row);
    const float score = scale(scores[row]);
    if (!scale.passes(score)) continue;
    const std::int32_t number = class_number(labels[row], row);
    if (number == *run.task.background) continue;
    // torchvision itself never outputs the background.
    check(
        number >= *run.task.first_class || run.task.head != Head::torchvision, ErrorCode::bad_data,
        "head torchvision: row {} is of the class {}, expected {} or more; give first_class {} where classes "
        "count from it",
        row, number, *run.task.first_class, number);
    if (number < *run.task.first_class) continue;
    found.add({box(row), 0, score, number - *run.task.first_class, row});
  }
  if (run.has("keypoints")) {
    const Values& points = run.part("keypoints");
    check(points.dim(0) == boxes.dim(0), ErrorCode::invalid_argument,
          "head {}: key points are {}, for {} boxes", to_string(*run.task.head), points.shape().to_string(),
          boxes.dim(0));
    found.extras = {points, 0, points.dim(1) * points.dim(2), 1, points.dim(1) * points.dim(2)};
  }
  return found;
}

} // namespace lanner::tasks
