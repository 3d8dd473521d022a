#pragma once
// Results of tasks as files that other programs read.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/task.h>

namespace lanner {

/// What a result is of.
struct PictureSource {
  std::string source;        ///< The file.
  bool still = true;         ///< False: a frame of a clip.
  std::int64_t frame = 0;    ///< In its clip, from 0.
  std::optional<double> pts; ///< Seconds.
};

enum class ResultFormat : std::uint8_t {
  json, ///< One JSON object a line: docs/tasks.md.
  csv,  ///< One row for each class, box or embedding, with a header.
  coco, ///< One JSON file: `images`, `categories`, `annotations` with scores, as COCO's ground truth and
        ///< results.
  yolo, ///< A folder with a text file for each picture: class, then centre x, y, width, height as shares of
        ///< the picture (polygon of a mask, key points, corners), then the score.
};
std::string_view to_string(ResultFormat format) noexcept;
ResultFormat parse_result_format(std::string_view name);

/// `{"source": ..., "frame": ..., "pts": ..., "width": ..., "height": ..., "top" | "detections" | ...}`,
/// without line feed.
std::string result_json(const PictureSource& picture, const TaskResult& result, const TaskReader& reader);

/// Writes results one by one; files are complete, under their names, after finish() only. One thread at a
/// time.
class ResultWriter {
public:
  /// Throws Error{invalid_argument} where the format cannot hold the task.
  ResultWriter(const std::filesystem::path& path, ResultFormat format, const TaskReader& reader);
  ~ResultWriter();
  ResultWriter(ResultWriter&&) noexcept;
  void write(const PictureSource& picture, const TaskResult& result);
  void finish();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
