// YOLOv10 and v26, end to end: edges, score, class and extras of the final detections.

#include "tasks/heads/boxes.h"
#include "tasks/heads/scores.h"
#include "tasks/heads/yolo.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t fixed = 6, most_rows = 1000;
constexpr Part parts[] = {{"boxes", 2}, {"prototypes", 3}};
constexpr TaskKind kinds[] = {TaskKind::detect, TaskKind::segment, TaskKind::pose, TaskKind::obb};

void add(const Facts& facts, const YoloOutputs& outputs, TaskKind kind, std::vector<Reading>& readings) {
  const std::int64_t channels = outputs.boxes->dims[2];
  Reading reading = reading_of(yolo_v10_row, kind, -1, facts.end_to_end ? Ground::names : Ground::shapes,
                               {{"boxes", outputs.boxes->name}});
  if (kind == TaskKind::segment) {
    if (!outputs.prototypes) return;
    reading.task.outputs["prototypes"] = outputs.prototypes->name;
  }
  auto extras = extra_channels(facts.wanted, kind, outputs.coefficients());
  if (kind == TaskKind::pose && !extras && channels > fixed) {
    for (const int values : {3, 2}) {
      if (facts.wanted.keypoint_values.value_or(values) != values || (channels - fixed) % values != 0)
        continue;
      if (facts.wanted.keypoints && *facts.wanted.keypoints * values != channels - fixed) continue;
      reading.task.keypoints = static_cast<int>((channels - fixed) / values);
      reading.task.keypoint_values = values;
      extras = channels - fixed;
      reading.text += fmt::format(" and {} key points of {} values", *reading.task.keypoints, values);
      break;
    }
  }
  if (!extras || !may_be(channels, fixed + *extras)) return;
  readings.push_back(std::move(reading));
}

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const YoloOutputs outputs = yolo_outputs(facts);
  if (!outputs.boxes) return;
  const std::int64_t rows = outputs.boxes->dims[1], channels = outputs.boxes->dims[2];
  const bool asked = facts.asked(Head::yolo_v10) || facts.end_to_end;
  if (!asked && (channels < 0 || rows > most_rows || is_grid(rows, facts.width, facts.height, 1))) return;
  if (facts.wanted.kind) return add(facts, outputs, *facts.wanted.kind, readings);
  add(facts, outputs, outputs.prototypes ? TaskKind::segment : TaskKind::detect, readings);
}

Candidates decode(const HeadRun& run) {
  const Values& values = run.part("boxes");
  const std::int64_t prototypes = run.has("prototypes") ? run.part("prototypes").dim(0) : -1;
  const auto extras = extra_channels(run.task, *run.task.kind, prototypes);
  const std::int64_t pitch = values.dim(1);
  check(extras && pitch == fixed + *extras, ErrorCode::invalid_argument,
        "head yolo_v10: the output is {}, expected [K, {}] for task {}", values.shape().to_string(),
        extras ? std::to_string(fixed + *extras) : "6 + extra", to_string(*run.task.kind));
  const bool turned = *run.task.kind == TaskKind::obb;
  const BoxReader box(run, values, 0, pitch);
  const ScoreScale scale(*run.task.activation, run.threshold);
  Candidates found(run.most);
  for (std::int64_t row = 0; row < values.dim(0); ++row) {
    const float raw = values[row * pitch + 4];
    if (!std::isfinite(raw)) fail_not_finite(row);
    const float score = scale(raw);
    if (!scale.passes(score)) continue;
    const std::int32_t label = class_number(values[row * pitch + 5], row) - *run.task.first_class;
    if (label < 0) continue;
    found.add(
        {turned ? box.centred(row) : box(row), turned ? values[row * pitch + 6] : 0, score, label, row});
  }
  found.extras = {values, fixed, pitch, 1, *extras};
  return found;
}

} // namespace

const HeadRow yolo_v10_row{
    .head = Head::yolo_v10,
    .expects = "one output [N, K, 6 + extra], and prototypes [N, P, h, w]",
    .parts = parts,
    .kinds = kinds,
    .form = BoxForm::xyxy,
    .suppresses = true,
    .propose = propose,
    .decode = decode,
};

} // namespace lanner::tasks
