#pragma once
// Writes results of tasks to files for other programs.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/task.h>

namespace lanner {

/// The picture that a result belongs to.
struct ImageSource {
  std::string source = {};        ///< The file.
  bool still = true;              ///< False: a frame of a clip.
  std::int64_t frame = 0;         ///< In its clip, from 0.
  std::optional<double> pts = {}; ///< Seconds.

  /// File name stem for this picture: `orange` of orange.png, `clip_000012` of a clip's frame 12.
  std::string stem() const;
};

/// File formats of results; docs/results.md has the fields of each.
enum class ResultFormat : std::uint8_t {
  json, ///< One JSON object per line.
  csv,  ///< One row for each class, box, map or embedding, with a header.
  coco, ///< One JSON file: `images`, `categories`, `annotations` with scores, as COCO's ground truth and
        ///< results.
  yolo, ///< A folder with a text file per picture: class, then centre x, y, width, height as fractions of
        ///< the picture (polygon of a mask, key points, corners), then the score.
};
std::string_view to_string(ResultFormat format) noexcept;
ResultFormat parse_result_format(std::string_view name); ///< Throws Error{invalid_argument} with the names.
/// Whether this format can express the results of such a task.
bool can_write(ResultFormat format, TaskKind kind) noexcept;
/// Whether it can express the results of a second network of this task on boxes: csv for classify only.
/// COCO's annotations have a field of their own for it, YOLO's files leave it out.
bool can_write_crops(ResultFormat format, TaskKind kind) noexcept;

/// `{"source": ..., "frame": ..., "pts": ..., "width": ..., "height": ..., "top" | "detections" | "classes" |
/// "depth" | "image" | "embedding": ...}`, without line feed; with crops each detection has `then`. Throws
/// Error{invalid_argument} for the task none, and where the result's parts do not fit each other.
std::string result_json(const ImageSource& picture, const TaskResult& result, const Task& task);

/// Writes results one by one. A file is complete, under its name, only after finish(); files of a folder are
/// complete one by one. One thread at a time.
class ResultWriter {
public:
  /// `task` is resolved. Creates a missing folder. Throws Error{invalid_argument} where the format cannot
  /// express the task, Error{not_found, io}.
  ResultWriter(const std::filesystem::path& path, ResultFormat format, Task task);
  ~ResultWriter();
  ResultWriter(ResultWriter&&) noexcept;
  /// Throws Error{invalid_argument} for a result of another kind, for one whose parts do not fit each other,
  /// and where two pictures would have the same file in a folder.
  void write(const ImageSource& picture, const TaskResult& result);
  void finish();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
