#pragma once
// What a network's outputs mean, from the command line, for lines and drawings.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lanner/task.h>

#include "input/files.h"
#include "options/command_line.h"
#include "options/named_options.h"

namespace lanner::tool {

/// As given on the command line.
struct TaskOptions : NamedOptions {
  std::string task, head, labels, task_json, box_form, boxes, activation, anchors, strides, keypoints, range;
  double score_threshold = -1, iou_threshold = -1;
  int top = 0; ///< 0: not given.

  bool given() const;
};
void add_task_options(Command& command, TaskOptions& options);

/// Declares the files that the options name.
void declare_task_files(const TaskOptions& options, Files& files);
/// The task of the flags, which override --task-json. Throws Error.
Task given_task(const TaskOptions& options);

/// One answer of the network: a class, or a box with its class.
struct Answer {
  std::string label;
  std::int64_t number = 0;     ///< The class's number.
  double score = 0;            ///< Probability, or a detector's score.
  std::array<double, 4> box{}; ///< x0, y0, x1, y1 in pixels of the image, as edges. Detections only.
};

using Outputs = std::map<std::string, Tensor>;

/// Class or box `i`, without its label.
Answer answer_of(const TaskResult& result, std::size_t i);
/// Classes and boxes one by one, best first; empty for other kinds.
std::vector<Answer> answers_of(const TaskReader& reader, const TaskResult& result);

/// The elements as floats, row by row. Throws Error{unsupported} for strings and complex numbers.
std::vector<float> to_floats(const Tensor& tensor);

} // namespace lanner::tool
