#pragma once
// From outputs to one picture's result.

#include <lanner/task.h>

#include "tasks/read/grid.h"
#include "tasks/read/values.h"

namespace lanner::tasks {

/// What reading one picture takes.
struct PictureRun {
  const Task& task; ///< Resolved.
  const Preprocess& spec;
  const Outputs& outputs;
  std::int32_t width, height; ///< Of the picture.
  std::int64_t element;
  const Limits& limits;
  InputPlace place;
};

void read_detections(const PictureRun& run, TaskResult& result);
void read_classes(const PictureRun& run, TaskResult& result);
void read_semantic(const PictureRun& run, TaskResult& result);
void read_depth(const PictureRun& run, TaskResult& result);
void read_image(const PictureRun& run, TaskResult& result);
void read_embedding(const PictureRun& run, TaskResult& result);

/// What a resolved task and its preprocessing leave open and the engine tells: sizes, the range of pictures.
void complete_reading(const Engine& engine, Task& task, Preprocess& spec);

/// As TaskReader::read() of a resolved task.
TaskResult read_result(const Task& task, const Preprocess& spec, const Outputs& outputs, std::int32_t width,
                       std::int32_t height, std::int64_t element, const Limits& limits);

} // namespace lanner::tasks
