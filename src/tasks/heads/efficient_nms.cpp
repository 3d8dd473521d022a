// Outputs of TensorRT's node EfficientNMS, and of exports that imitate it.

#include "tasks/heads/lists.h"

namespace lanner::tasks {
namespace {

constexpr Part parts[] = {{"count", 0}, {"boxes", 2}, {"scores", 1}, {"labels", 1}};

const Binding* of(const Facts& facts, const char* part, std::initializer_list<std::string_view> names) {
  const Binding* given = facts.given(part);
  return given ? given : facts.named(names);
}

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const Binding* count = of(facts, "count", {"num_dets", "num_detections"});
  const Binding* boxes = of(facts, "boxes", {"det_boxes", "detection_boxes"});
  const Binding* scores = of(facts, "scores", {"det_scores", "detection_scores"});
  const Binding* labels = of(facts, "labels", {"det_classes", "detection_classes"});
  if (!count || !boxes || !scores || !labels) return;
  // Both use TensorFlow's names; TensorFlow's counts are floats.
  if (!facts.asked(Head::efficient_nms) && !is_integer(count->dtype)) return;
  readings.push_back(reading_of(
      efficient_nms_row, TaskKind::detect, -1, Ground::names,
      {{"count", count->name}, {"boxes", boxes->name}, {"scores", scores->name}, {"labels", labels->name}}));
}

} // namespace

const HeadRow efficient_nms_row{
    .head = Head::efficient_nms,
    .expects = "num_dets [N, 1], det_boxes [N, K, 4], det_scores [N, K], det_classes [N, K]",
    .parts = parts,
    .kinds = std::span(list_kinds, 1),
    .form = BoxForm::xyxy,
    .suppresses = true,
    .propose = propose,
    .decode = decode_lists,
};

} // namespace lanner::tasks
