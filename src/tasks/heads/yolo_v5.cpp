// YOLOv5 and v7, decoded by the network: box, objectness, classes and extras of each cell.

#include "tasks/cuda/rows.h"
#include "tasks/heads/boxes.h"
#include "tasks/heads/scores.h"
#include "tasks/heads/yolo.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t fixed = 5;
constexpr Part parts[] = {{"boxes", 2}, {"prototypes", 3}};
constexpr TaskKind kinds[] = {TaskKind::detect, TaskKind::segment, TaskKind::pose};

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const YoloOutputs outputs = yolo_outputs(facts);
  if (!outputs.boxes) return;
  const std::int64_t first = outputs.boxes->dims[1], second = outputs.boxes->dims[2];
  if (facts.asked(Head::yolo_v5)) {
    const auto shape = yolo_shape(first, second, -1, facts.width, facts.height);
    propose_yolo(facts, yolo_v5_row, outputs, shape.value_or(YoloShape{}), fixed, Ground::shapes, readings);
    return;
  }
  // Three anchors a cell; networks without anchors that have an objectness (YOLOX) have one a cell.
  const bool grid = first < 0 || is_grid(first, facts.width, facts.height, 3) ||
                    is_grid(first, facts.width, facts.height, 1);
  if (grid && second > fixed && (first < 0 || first > second))
    propose_yolo(facts, yolo_v5_row, outputs, {false, second, first}, fixed, Ground::shapes, readings);
}

Candidates decode(const HeadRun& run) {
  const YoloLayout layout = yolo_layout(run, fixed);
  const Values& values = run.part("boxes");
  const std::int64_t pitch = layout.pitch(), step = layout.step();
  const BoxReader box(run, values, 0, pitch, step);
  const ScoreScale scale(*run.task.activation, run.threshold);
  Candidates found(run.most);
  for (std::int64_t row = 0; row < layout.shape.places; ++row) {
    const float raw = values[row * pitch + 4 * step];
    if (!std::isfinite(raw)) fail_not_finite(values.number(row));
    if (raw < scale.least()) continue; // Class scores are at most 1.
    float most = 0;
    std::int32_t label = -1;
    for (std::int64_t c = 0; c < layout.classes; ++c) {
      const float value = values[row * pitch + (fixed + c) * step];
      if (!std::isfinite(value)) fail_not_finite(values.number(row));
      if (label >= 0 && value <= most) continue;
      most = value;
      label = static_cast<std::int32_t>(c);
    }
    const float score = scale(raw) * scale(most);
    if (scale.passes(score)) found.add({box(row), 0, score, label, row});
  }
  found.extras = {values, (fixed + layout.classes) * step, pitch, step, layout.extras};
  return found;
}

std::vector<RowScan> scans(const HeadRun& run) {
  return scan_yolo(run, fixed, true);
}

} // namespace

const HeadRow yolo_v5_row{
    .head = Head::yolo_v5,
    .expects = "one output [N, A, 5 + C + extra], and prototypes [N, P, h, w]",
    .parts = parts,
    .kinds = kinds,
    .form = BoxForm::cxcywh,
    .propose = propose,
    .decode = decode,
    .scans = scans,
};

} // namespace lanner::tasks
