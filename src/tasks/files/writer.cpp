#include <lanner/result_writer.h>

#include <fmt/format.h>

#include "base/check.h"
#include "tasks/files/formats.h"

namespace lanner {
namespace {

constexpr ResultFormat formats[] = {ResultFormat::json, ResultFormat::csv, ResultFormat::coco,
                                    ResultFormat::yolo};

std::unique_ptr<ResultFile> open_result_file(const std::filesystem::path& path, ResultFormat format) {
  switch (format) {
  case ResultFormat::json:
    return open_json_file(path);
  case ResultFormat::csv:
    return open_csv_file(path);
  case ResultFormat::coco:
    return open_coco_file(path);
  case ResultFormat::yolo:
    return open_yolo_folder(path);
  }
  fail(ErrorCode::invalid_argument, "{}: result format {}: expected json, csv, coco or yolo", path.string(),
       static_cast<int>(format));
}

} // namespace

std::string_view to_string(ResultFormat format) noexcept {
  switch (format) {
  case ResultFormat::json:
    return "json";
  case ResultFormat::csv:
    return "csv";
  case ResultFormat::coco:
    return "coco";
  case ResultFormat::yolo:
    return "yolo";
  }
  return "unknown";
}

ResultFormat parse_result_format(std::string_view name) {
  for (const ResultFormat format : formats)
    if (to_string(format) == name) return format;
  fail(ErrorCode::invalid_argument, "result format '{}': expected json, csv, coco or yolo", name);
}

bool can_write(ResultFormat format, TaskKind kind) noexcept {
  switch (format) {
  case ResultFormat::json:
    return kind != TaskKind::none;
  case ResultFormat::csv:
    return kind != TaskKind::none && kind != TaskKind::image;
  case ResultFormat::coco:
  case ResultFormat::yolo:
    return has_boxes(kind);
  }
  return false;
}

bool can_write_crops(ResultFormat format, TaskKind kind) noexcept {
  return format == ResultFormat::csv ? kind == TaskKind::classify
                                     : format == ResultFormat::json || format == ResultFormat::coco;
}

std::string ImageSource::stem() const {
  std::string name = std::filesystem::path(source).stem().string();
  if (name.empty()) name = "picture";
  return still ? name : fmt::format("{}_{:06}", name, frame);
}

struct ResultWriter::State {
  std::filesystem::path path;
  Task task;
  std::unique_ptr<ResultFile> file;
  bool finished = false;
};

ResultWriter::ResultWriter(const std::filesystem::path& path, ResultFormat format, Task task) {
  check(task.kind.has_value(), ErrorCode::invalid_argument,
        "{}: the task has no kind; expected one from resolve_task()", path.string());
  check(can_write(format, *task.kind), ErrorCode::invalid_argument,
        "{}: {} cannot hold results of the task {}; {}", path.string(), to_string(format),
        to_string(*task.kind), *task.kind == TaskKind::none ? "expected another task" : "json can");
  std::unique_ptr<ResultFile> file = open_result_file(path, format);
  state_ = std::make_unique<State>(State{path, std::move(task), std::move(file), false});
}

ResultWriter::~ResultWriter() = default;
ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;

void ResultWriter::write(const ImageSource& picture, const TaskResult& result) {
  check(!state_->finished, ErrorCode::invalid_argument, "{}: write after finish", state_->path.string());
  check(result.kind == *state_->task.kind, ErrorCode::invalid_argument,
        "{}: expected a result of the task {}, got {}", state_->path.string(), to_string(*state_->task.kind),
        to_string(result.kind));
  state_->file->write(picture, result, state_->task);
}

void ResultWriter::finish() {
  check(!state_->finished, ErrorCode::invalid_argument, "{}: finished before", state_->path.string());
  state_->file->finish(state_->task);
  state_->finished = true;
}

} // namespace lanner
