// TensorFlow's detection API, and TFLite's suppression node.

#include "tasks/heads/lists.h"

namespace lanner::tasks {
namespace {

constexpr Part parts[] = {{"boxes", 2}, {"labels", 1}, {"scores", 1}, {"count", 0}, {"masks", 3}};
constexpr TaskKind kinds[] = {TaskKind::detect, TaskKind::segment};

const Binding* of(const Facts& facts, const char* part, std::initializer_list<std::string_view> names) {
  const Binding* given = facts.given(part);
  return given ? given : facts.named(names);
}

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const Binding* boxes = of(facts, "boxes", {"detection_boxes"});
  const Binding* labels = of(facts, "labels", {"detection_classes"});
  const Binding* scores = of(facts, "scores", {"detection_scores"});
  const Binding* count = of(facts, "count", {"num_detections"});
  const Binding* masks = of(facts, "masks", {"detection_masks"});
  const bool lite = !boxes && !labels && !scores;
  if (lite) { // The outputs of one node, which are numbered.
    boxes = facts.named({"TFLite_Detection_PostProcess"});
    labels = facts.named({"TFLite_Detection_PostProcess:1"});
    scores = facts.named({"TFLite_Detection_PostProcess:2"});
    count = facts.named({"TFLite_Detection_PostProcess:3"});
  }
  TaskKind kind;
  if (!boxes || !labels || !scores || !list_kind(facts, masks, false, kind)) return;
  Reading reading = reading_of(tensorflow_row, kind, -1, Ground::names,
                               {{"boxes", boxes->name}, {"labels", labels->name}, {"scores", scores->name}});
  if (count) reading.task.outputs["count"] = count->name;
  if (kind == TaskKind::segment) reading.task.outputs["masks"] = masks->name;
  if (lite && !facts.wanted.first_class) reading.task.first_class = 0;
  readings.push_back(std::move(reading));
}

} // namespace

const HeadRow tensorflow_row{
    .head = Head::tensorflow,
    .expects = "detection_boxes [N, K, 4], detection_scores [N, K], detection_classes [N, K], and "
               "num_detections [N], detection_masks [N, K, h, w]",
    .parts = parts,
    .kinds = kinds,
    .form = BoxForm::yxyx,
    .normalised = true,
    .first_class = 1,
    .suppresses = true,
    .propose = propose,
    .decode = decode_lists,
};

} // namespace lanner::tasks
