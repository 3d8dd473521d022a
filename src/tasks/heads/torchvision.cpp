// torchvision's detectors: lists for one picture, without a batch.

#include "tasks/heads/lists.h"

namespace lanner::tasks {
namespace {

constexpr Part parts[] = {{"boxes", 2}, {"labels", 1}, {"scores", 1}, {"masks", 4}, {"keypoints", 3}};

bool whole(const Binding& output, std::size_t rank) {
  return has_rank(output, rank) && is_integer(output.dtype);
}
bool real(const Binding& output, std::size_t rank) {
  return has_rank(output, rank) && is_float(output.dtype);
}

void propose(const Facts& facts, std::vector<Reading>& readings) {
  // Outputs with these names may have a batch: [N, K, 4], [N, K], [N, K].
  const auto of = [&](const char* part, auto&& fits) { return facts.find(part, {part}, fits); };
  const Binding* boxes =
      of("boxes", [](const Binding& output) { return real(output, 2) && may_be(output.dims[1], 4); });
  const Binding* labels = of("labels", [](const Binding& output) { return whole(output, 1); });
  const Binding* scores = of("scores", [](const Binding& output) { return real(output, 1); });
  if (!boxes || !labels || !scores) return;
  const std::size_t batch = has_rank(*boxes, 3) ? 1 : 0;
  if (!has_rank(*boxes, 2 + batch) || !has_rank(*labels, 1 + batch) || !has_rank(*scores, 1 + batch)) return;
  const Binding* masks =
      of("masks", [](const Binding& output) { return real(output, 4) && may_be(output.dims[1], 1); });
  const Binding* keypoints =
      of("keypoints", [](const Binding& output) { return real(output, 3) && may_be(output.dims[2], 3); });
  TaskKind kind;
  if (!list_kind(facts, masks, keypoints, kind)) return;
  Reading reading = reading_of(torchvision_row, kind, -1, Ground::names,
                               {{"boxes", boxes->name}, {"labels", labels->name}, {"scores", scores->name}});
  if (kind == TaskKind::segment) reading.task.outputs["masks"] = masks->name;
  if (kind == TaskKind::pose) {
    reading.task.outputs["keypoints"] = keypoints->name;
    const std::int64_t points = keypoints->dims[keypoints->dims.size() - 2];
    if (points > 0 && points < INT32_MAX) reading.task.keypoints = static_cast<int>(points);
    reading.task.keypoint_values = 3;
  }
  readings.push_back(std::move(reading));
}

} // namespace

// Four dims without a batch are masks: [K, 1, H, W].
const HeadRow torchvision_row{
    .head = Head::torchvision,
    .expects = "boxes [K, 4], labels [K], scores [K], and masks [K, 1, H, W] or keypoints [K, P, 3]",
    .parts = parts,
    .kinds = list_kinds,
    .form = BoxForm::xyxy,
    .first_class = 1,
    .suppresses = true,
    .propose = propose,
    .decode = decode_lists,
};

} // namespace lanner::tasks
