#include "tasks/read/reader.h"

#include <lanner/classes.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "tasks/declare/resolve.h"

namespace lanner {
namespace {

/// A size that the spec leaves open is the input's fixed size, if it has one.
void take_size(const Engine& engine, Preprocess& spec) {
  const tasks::Facts facts = tasks::facts_of(engine, {});
  const bool row = facts.width > INT32_MAX || facts.height > INT32_MAX;
  if (spec.width == 0 && !row) spec.width = static_cast<std::int32_t>(facts.width);
  if (spec.height == 0 && !row) spec.height = static_cast<std::int32_t>(facts.height);
}

/// An image output without a range has the range of the input's pixels.
std::array<float, 2> input_range(const Preprocess& spec) {
  const auto at = [&](float value, std::size_t channel) {
    return (value - spec.mean[channel]) / spec.std[channel];
  };
  const std::size_t channels = spec.gray ? 1 : 3;
  for (std::size_t c = 1; c < channels; ++c)
    check(spec.mean[c] == spec.mean[0] && spec.std[c] == spec.std[0], ErrorCode::invalid_argument,
          "task image: the input's channels have means or deviations of their own, so the output's range "
          "does not "
          "follow; give range, like 0 and 1 (black and white)");
  return {at(spec.range[0], 0), at(spec.range[1], 0)};
}

} // namespace

TaskReader::TaskReader(Task task, const Engine& engine, Preprocess spec)
    : task_(resolve_task(engine, task, spec).task), spec_(spec) {
  tasks::complete_reading(engine, task_, spec_);
}

TaskResult TaskReader::read(const std::map<std::string, Tensor>& outputs, std::int32_t width,
                            std::int32_t height, std::int64_t element, const Limits& limits) const {
  return tasks::read_result(task_, spec_, outputs, width, height, element, limits);
}

std::string TaskReader::label(std::int64_t number) const {
  return class_label(task_, number);
}

} // namespace lanner

namespace lanner::tasks {

void complete_reading(const Engine& engine, Task& task, Preprocess& spec) {
  take_size(engine, spec);
  if (task.kind == TaskKind::image && !task.range) task.range = input_range(spec);
}

TaskResult read_result(const Task& task, const Preprocess& spec, const Outputs& outputs, std::int32_t width,
                       std::int32_t height, std::int64_t element, const Limits& limits) {
  check(width > 0 && height > 0, ErrorCode::invalid_argument, "task: the picture is {} x {}", width, height);
  limited_product("pixels", limits.pixels, static_cast<std::uint64_t>(width),
                  static_cast<std::uint64_t>(height), "task: picture");
  const DeadlineScope deadline(limits);
  TaskResult result;
  result.kind = *task.kind;
  result.width = width;
  result.height = height;
  const InputGeometry input = input_geometry(spec, width, height);
  const PictureRun run{task, spec, outputs, width, height, element, limits, input};
  switch (result.kind) {
  case TaskKind::classify:
    read_classes(run, result);
    break;
  case TaskKind::detect:
  case TaskKind::segment:
  case TaskKind::pose:
  case TaskKind::obb:
    read_detections(run, result);
    break;
  case TaskKind::semantic:
    read_semantic(run, result);
    break;
  case TaskKind::depth:
    read_depth(run, result);
    break;
  case TaskKind::image:
    read_image(run, result);
    break;
  case TaskKind::embed:
    read_embedding(run, result);
    break;
  case TaskKind::none:
    break;
  }
  return result;
}

} // namespace lanner::tasks
