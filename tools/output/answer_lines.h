#pragma once
// Answers as lines of text or JSON.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "output/task.h"

namespace lanner::tool {

/// A network's answer for one image.
struct PictureAnswers {
  std::string source;        ///< The file.
  bool still = false;        ///< An image, not a frame of a clip.
  std::int64_t frame = 0;    ///< Index in its clip, from 0.
  std::optional<double> pts; ///< Seconds.
  std::int32_t width = 0, height = 0;
  std::vector<Answer> answers; ///< Only kinds with classes or boxes.
  TaskResult result;
  const Outputs* outputs = nullptr; ///< Where there is no task.
};

/// For stdout; ends with a line feed. One line a frame of a clip, or one an output where there is no task.
std::string answer_text(const TaskReader& reader, const PictureAnswers& picture, bool name_source);
/// `{"source": ..., "frame": ..., "pts": ..., "width": ..., "height": ..., "top" | "detections" | "classes" |
/// "depth" | "image" | "embedding" | "outputs": ...}` and a line feed.
std::string answer_json(const TaskReader& reader, const PictureAnswers& picture);

} // namespace lanner::tool
