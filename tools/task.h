#pragma once
// What a network's outputs mean: classes of a picture, boxes in it, or numbers.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <lanner/engine.h>

namespace lanner::tool {

/// As given on the command line.
struct TaskOptions {
  std::string task, labels;
  double score_threshold = -1, iou_threshold = -1;
  int top = 5;
};
void add_task_options(CLI::App& command, TaskOptions& options);

enum class TaskKind { classify, detect, none };
const char* to_string(TaskKind kind);

/// How boxes are written in the network's output.
struct BoxForm {
  bool centre = false; ///< cx, cy, width, height in place of x0, y0, x1, y1.
  bool pixels = false; ///< Pixels of the network's input in place of shares of it.
};

struct Task {
  TaskKind kind = TaskKind::none;
  std::vector<std::string> labels;
  int top = 5;
  std::string scores; ///< Output of classes' scores.
  std::string boxes;  ///< Output of boxes.
  BoxForm form;
  double score_threshold = 0.4, iou_threshold = 0.5;

  std::string label(std::int64_t number) const; ///< `class 7` where there is no label.
};

/// From the command line, else the model's metadata (`lanner.task`, `lanner.labels`, `lanner.boxes`,
/// `lanner.score_threshold`, `lanner.iou_threshold`), else classify where the only output is [N, classes].
/// Throws Error{invalid_argument}.
Task resolve_task(const TaskOptions& options, const Engine& engine);

/// One thing that the network said: of a class, or of a box in it.
struct Answer {
  std::string label;
  std::int64_t number = 0;     ///< Of the class.
  double score = 0;            ///< Probability, or a detector's score.
  std::array<double, 4> box{}; ///< x0, y0, x1, y1 in pixels of the picture, as edges. Detections only.
};

using Outputs = std::map<std::string, Tensor>;

/// The answers to one picture, best first; none for TaskKind::none. `outputs` have a batch dimension of 1.
std::vector<Answer> read_answers(const Task& task, const Outputs& outputs, const Preprocess& spec,
                                 std::int32_t width, std::int32_t height);

/// Classes of one picture by probability: softmax unless the values are a distribution already.
std::vector<Answer> classify(const Task& task, const Tensor& scores);
/// Boxes of one picture above the threshold, of those that overlap the best (all classes together).
std::vector<Answer> detect(const Task& task, const Tensor& boxes, const Tensor& scores,
                           const Preprocess& spec, std::int32_t width, std::int32_t height);

/// The elements as floats, row by row. Throws Error{unsupported} for strings and complex numbers.
std::vector<float> to_floats(const Tensor& tensor);

} // namespace lanner::tool
