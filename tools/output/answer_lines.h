#pragma once
// Answers as lines: words for people, JSON for programs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "output/task.h"

namespace lanner::tool {

/// What a network said of one picture.
struct PictureAnswers {
  std::string source;        ///< The file.
  bool still = false;        ///< An image, not a frame of a clip.
  std::int64_t frame = 0;    ///< In its clip, from 0.
  std::optional<double> pts; ///< Seconds.
  std::int32_t width = 0, height = 0;
  std::vector<Answer> answers; ///< Of kinds that have classes or boxes.
  TaskResult result;
  const Outputs* outputs = nullptr; ///< Where the task is none.
};

/// For stdout; ends with a line feed. A clip's frame takes one line, or one an output where the task is none.
std::string answer_text(const TaskReader& reader, const PictureAnswers& picture, bool name_source);
/// `{"source": ..., "frame": ..., "pts": ..., "width": ..., "height": ..., "top" | "detections" | "classes" |
/// "depth" | "image" | "embedding" | "outputs": ...}` and a line feed.
std::string answer_json(const TaskReader& reader, const PictureAnswers& picture);

} // namespace lanner::tool
