#include <lanner/error.h>

#include "fuzz/targets.h"
#include "tasks/evaluation/dataset.h"
#include "tasks/evaluation/runs.h"
#include "tasks/evaluation/yolo_names.h"

namespace lanner::fuzz {
namespace {

constexpr std::int32_t width = 20, height = 10;

/// An Error is a valid answer, but for this part only.
void attempt(auto&& part) {
  try {
    part();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
}

} // namespace

/// COCO's JSON and YOLO's lines for each kind of task, compressed run lengths, and YOLO's data.yaml.
void read_truth(std::span<const std::byte> input) {
  const std::string_view text = as_text(input);
  attempt([&] { tasks::read_yolo_facts(text); });
  attempt([&] {
    const tasks::Runs runs = tasks::unpacked_runs(text, width, height);
    tasks::mask_of_runs(runs, width, height);
  });
  DatasetOptions options;
  options.images = "pictures";
  options.limits = small_limits();
  options.limits.pixels = 1 << 20;
  for (const TaskKind kind : {TaskKind::detect, TaskKind::segment, TaskKind::pose, TaskKind::obb})
    attempt([&] {
      Task task;
      task.kind = kind;
      if (kind != TaskKind::obb) task.labels = {"cat", "dog"};
      const tasks::FormPtr form = tasks::read_coco(text, "truth.json", task, options);
      for (std::size_t i = 0; i < form->pictures.size(); ++i)
        attempt([&] { result_of_ground_truth(form->truth(i, width, height), kind, width, height); });
    });
  for (const TaskKind kind : {TaskKind::detect, TaskKind::segment, TaskKind::pose, TaskKind::obb})
    attempt([&] {
      Task task;
      task.kind = kind;
      task.keypoints = 2;
      const GroundTruth truth = tasks::read_yolo_truth(text, "one.txt", task, options.limits, width, height);
      result_of_ground_truth(truth, kind, width, height);
    });
}

} // namespace lanner::fuzz
