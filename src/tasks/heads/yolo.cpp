#include "tasks/heads/yolo.h"

#include <algorithm>

#include "base/check.h"
#include "tasks/cuda/rows.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t least_labels = 1, most_prototypes = 1024;
constexpr std::int64_t dota_classes = 15; ///< Of most turned boxes ("DOTA: A Large-Scale Dataset for Object
                                          ///< Detection in Aerial Images").

/// Key points of published datasets with one class: COCO's people, faces, hands, dogs, tigers.
struct KnownPoints {
  int count, values;
};
constexpr KnownPoints known_points[] = {{17, 2}, {17, 3}, {5, 3}, {21, 3}, {24, 3}, {12, 2}};

std::int64_t cells(std::int64_t width, std::int64_t height, std::int64_t stride) {
  return ((width + stride - 1) / stride) * ((height + stride - 1) / stride);
}

/// The reading as this kind, where the channels allow it.
void add(const Facts& facts, const HeadRow& row, const YoloOutputs& outputs, TaskKind kind,
         std::int64_t classes, Ground ground, std::vector<Reading>& readings, int keypoints = 0,
         int values = 0) {
  if (classes < least_labels || (facts.labels() > 0 && facts.labels() != classes)) return;
  Reading reading = reading_of(row, kind, classes, ground, {{"boxes", outputs.boxes->name}});
  if (kind == TaskKind::segment) reading.task.outputs["prototypes"] = outputs.prototypes->name;
  if (keypoints > 0) {
    reading.task.keypoints = keypoints;
    reading.task.keypoint_values = values;
    reading.text += fmt::format(" and {} key points of {} values", keypoints, values);
  }
  readings.push_back(std::move(reading));
}

/// Poses with this many channels after the boxes, where labels or a known dataset's points determine the
/// number of points.
void add_poses(const Facts& facts, const HeadRow& row, const YoloOutputs& outputs, std::int64_t rest,
               Ground ground, std::vector<Reading>& readings) {
  const Task& wanted = facts.wanted;
  for (const int values : {2, 3}) {
    if (wanted.keypoint_values && *wanted.keypoint_values != values) continue;
    if (wanted.keypoints) {
      add(facts, row, outputs, TaskKind::pose, rest - std::int64_t{*wanted.keypoints} * values, ground,
          readings, *wanted.keypoints, values);
    } else if (facts.labels() > 0) {
      const std::int64_t numbers = rest - facts.labels();
      if (numbers > 0 && numbers % values == 0)
        add(facts, row, outputs, TaskKind::pose, facts.labels(), ground, readings,
            static_cast<int>(numbers / values), values);
    } else {
      for (const KnownPoints& known : known_points)
        if (known.values == values && rest == 1 + std::int64_t{known.count} * values)
          add(facts, row, outputs, TaskKind::pose, 1, ground, readings, known.count, values);
    }
  }
}

} // namespace

std::optional<std::int64_t> extra_channels(const Task& task, TaskKind kind, std::int64_t prototypes) {
  if (kind == TaskKind::detect) return 0;
  if (kind == TaskKind::obb) return 1;
  if (kind == TaskKind::segment && prototypes > 0) return prototypes;
  if (kind == TaskKind::pose && task.keypoints && task.keypoint_values)
    return std::int64_t{*task.keypoints} * *task.keypoint_values;
  return std::nullopt;
}

bool is_grid(std::int64_t places, std::int64_t width, std::int64_t height, int anchors) {
  if (places <= 0) return false;
  // The size is unknown but a multiple of 32: 1 + 4 + 16 cells for each square of 32 pixels.
  if (width <= 0 || height <= 0) return places % (21 * anchors) == 0;
  const std::int64_t three = cells(width, height, 8) + cells(width, height, 16) + cells(width, height, 32);
  const std::int64_t p2 = cells(width, height, 4), p6 = cells(width, height, 64);
  return places == three * anchors || places == (three + p6) * anchors || places == (three + p2) * anchors;
}

std::optional<YoloShape> yolo_shape(std::int64_t first, std::int64_t second, std::int64_t channels,
                                    std::int64_t width, std::int64_t height) {
  const YoloShape columns{true, first, second}, rows{false, second, first};
  if (channels > 0 && first != second) {
    if (first == channels) return columns;
    if (second == channels) return rows;
  }
  if (first < 0 || second < 0) {
    if (first == second) return std::nullopt;
    return first < 0 ? rows : columns;
  }
  if ((first == 0) != (second == 0)) return first == 0 ? rows : columns; // No cells.
  const auto grid = [&](std::int64_t places) {
    return is_grid(places, width, height, 1) || is_grid(places, width, height, 3);
  };
  if (grid(first) != grid(second)) return grid(first) ? rows : columns;
  if (first == second) return std::nullopt;
  return first < second ? columns : rows;
}

YoloOutputs yolo_outputs(const Facts& facts) {
  YoloOutputs found;
  found.boxes = facts.find("boxes", {}, [](const Binding& output) { return has_rank(output, 3); });
  found.prototypes = facts.find("prototypes", {}, [](const Binding& output) {
    return has_rank(output, 4) && output.dims[1] > 0 && output.dims[1] <= most_prototypes;
  });
  return found;
}

void propose_yolo(const Facts& facts, const HeadRow& row, const YoloOutputs& outputs, const YoloShape& shape,
                  std::int64_t fixed, Ground ground, std::vector<Reading>& readings) {
  const auto& wanted = facts.wanted;
  const bool any = !wanted.kind;
  if (shape.channels < 0) { // The number of classes is known at the run.
    const TaskKind kind = wanted.kind.value_or(TaskKind::detect);
    if (kind == TaskKind::segment && !outputs.prototypes) return;
    Reading reading = reading_of(row, kind, -1, ground, {{"boxes", outputs.boxes->name}});
    if (kind == TaskKind::segment) reading.task.outputs["prototypes"] = outputs.prototypes->name;
    if (kind != TaskKind::pose || extra_channels(wanted, kind, -1)) readings.push_back(std::move(reading));
    return;
  }
  const std::int64_t rest = shape.channels - fixed, coefficients = outputs.coefficients();
  const bool masks = coefficients > 0 && rest > coefficients;
  if ((any || facts.asked(TaskKind::segment)) && masks)
    add(facts, row, outputs, TaskKind::segment, rest - coefficients, ground, readings);
  if (any && masks) return; // Prototypes are only used for masks.
  if (any || facts.asked(TaskKind::detect))
    add(facts, row, outputs, TaskKind::detect, rest, ground, readings);
  if (std::ranges::find(row.kinds, TaskKind::pose) != row.kinds.end() && (any || facts.asked(TaskKind::pose)))
    add_poses(facts, row, outputs, rest, ground, readings);
  if (std::ranges::find(row.kinds, TaskKind::obb) != row.kinds.end() &&
      (facts.asked(TaskKind::obb) ||
       (any && shape.channels_first && (facts.labels() > 0 || rest - 1 == dota_classes))))
    add(facts, row, outputs, TaskKind::obb, rest - 1, ground, readings);
}

YoloLayout yolo_layout(const HeadRun& run, std::int64_t fixed) {
  const Values& boxes = run.part("boxes");
  const std::int64_t prototypes = run.has("prototypes") ? run.part("prototypes").dim(0) : -1;
  const auto extras = extra_channels(run.task, *run.task.kind, prototypes);
  check(extras.has_value(), ErrorCode::invalid_argument, "task {}: {}", to_string(*run.task.kind),
        *run.task.kind == TaskKind::pose ? "keypoints and keypoint_values are not known; give them"
                                         : "the masks' prototypes are missing");
  const auto labels = static_cast<std::int64_t>(run.task.labels.size());
  const std::int64_t channels = labels > 0 ? fixed + labels + *extras : -1;
  const Shape& whole = boxes.whole();
  auto shape = yolo_shape(whole[0], whole[1], channels, run.width, run.height);
  check(shape.has_value(), ErrorCode::invalid_argument,
        "head {}: of {} either dim may be the boxes; give labels", to_string(*run.task.head),
        whole.to_string());
  if (boxes.chosen()) shape = YoloShape{false, boxes.dim(1), boxes.dim(0)};
  YoloLayout layout{*shape, shape->channels - fixed - *extras, *extras};
  check(layout.classes > 0, ErrorCode::invalid_argument,
        "head {}: {} has {} channels, expected more than {}: {} of boxes and {} of {}",
        to_string(*run.task.head), whole.to_string(), shape->channels, fixed + *extras, fixed, *extras,
        to_string(*run.task.kind));
  check_class_count(run.task, layout.classes);
  return layout;
}

std::vector<RowScan> scan_yolo(const HeadRun& run, std::int64_t fixed, bool objectness) {
  const YoloLayout layout = yolo_layout(run, fixed);
  const std::int64_t pitch = layout.pitch(), step = layout.step();
  const Activation activation = *run.task.activation;
  RowScan scan{"boxes",
               scan_of(activation, run.threshold, layout.shape.places, layout.classes),
               {{"boxes", 0, pitch, step, layout.shape.channels}}};
  scan.scores.begin = fixed * step;
  scan.scores.pitch = pitch;
  scan.scores.step = step;
  if (objectness) add_objectness(scan.scores, activation, run.threshold, (fixed - 1) * step);
  return {scan};
}

} // namespace lanner::tasks
