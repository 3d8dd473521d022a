#pragma once
// Reads one picture's result from the outputs.

#include <lanner/task.h>

#include "tasks/read/grid.h"
#include "tasks/read/values.h"

namespace lanner::tasks {

/// Input of reading one picture.
struct PictureRun {
  const Task& task; ///< Resolved.
  const Preprocess& spec;
  const Outputs& outputs;
  std::int32_t width, height; ///< Of the picture.
  std::int64_t element;
  const Limits& limits;
  InputGeometry input;
};

void read_detections(const PictureRun& run, TaskResult& result);
void read_classes(const PictureRun& run, TaskResult& result);
void read_semantic(const PictureRun& run, TaskResult& result);
void read_depth(const PictureRun& run, TaskResult& result);
void read_image(const PictureRun& run, TaskResult& result);
void read_embedding(const PictureRun& run, TaskResult& result);

/// Completes from the engine what a resolved task and its preprocessing leave open: sizes, the range of
/// images.
void complete_reading(const Engine& engine, Task& task, Preprocess& spec);

/// TaskReader::read() for a resolved task.
TaskResult read_result(const Task& task, const Preprocess& spec, const Outputs& outputs, std::int32_t width,
                       std::int32_t height, std::int64_t element, const Limits& limits);

} // namespace lanner::tasks
