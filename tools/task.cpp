#include "task.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/source.h>

#include "check.h"

namespace lanner::tool {
namespace {

constexpr std::uint64_t max_label_bytes = 16u << 20;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// Without the WordNet number that ImageNet's lists begin their lines with: `n07747607 orange`.
std::string without_synset(std::string label) {
  const bool digits =
      label.size() > 10 && label[0] == 'n' && label[9] == ' ' &&
      std::all_of(label.begin() + 1, label.begin() + 9, [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? label.substr(10) : label;
}

std::vector<std::string> read_labels(const std::string& path) {
  Limits limits;
  limits.file_bytes = max_label_bytes;
  const Content content = read_all(open_path(path, limits), limits);
  const std::string_view text(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
  check(text.find('\0') == std::string_view::npos, ErrorCode::bad_data,
        "{}: expected text with one label a line, got binary data", path);
  std::vector<std::string> labels = lines_of(text);
  for (std::string& label : labels) label = without_synset(std::move(label));
  check(!labels.empty(), ErrorCode::bad_data, "{}: expected one label a line, got no line", path);
  return labels;
}

std::string metadata(const Engine& engine, const std::string& key) {
  const auto found = engine.metadata().find(key);
  return found == engine.metadata().end() ? std::string() : found->second;
}

/// Number of classes of an output [N, classes], [N, classes, 1, 1] or [classes]; nothing for others, -1 where
/// it is open.
std::optional<std::int64_t> class_count(const Binding& output) {
  if (output.sequence || !output.ranked || output.dims.empty()) return std::nullopt;
  const std::size_t at = output.dims.size() == 1 ? 0 : 1;
  for (std::size_t d = at + 1; d < output.dims.size(); ++d)
    if (output.dims[d] != 1) return std::nullopt;
  if (at == 1 && output.dims[0] > 1) return output.dims[1];
  return output.dims[at];
}

TaskKind kind_of_task(const TaskOptions& options, const Engine& engine) {
  const std::string text = options.task.empty() ? metadata(engine, "lanner.task") : options.task;
  if (text == "classify") return TaskKind::classify;
  if (text == "detect") return TaskKind::detect;
  if (text == "none") return TaskKind::none;
  check(text.empty(), ErrorCode::invalid_argument, "{} '{}': expected classify, detect or none",
        options.task.empty() ? "metadata lanner.task" : "--task", text);
  const bool classes = engine.outputs().size() == 1 && class_count(engine.outputs()[0]).value_or(0) != 0;
  return classes ? TaskKind::classify : TaskKind::none;
}

double threshold(double given, const Engine& engine, const std::string& key, double otherwise) {
  if (given >= 0) return given;
  const std::string text = metadata(engine, key);
  if (text.empty()) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= 1,
        ErrorCode::bad_data, "metadata {} is '{}', expected a number from 0 to 1", key, text);
  return value;
}

std::vector<std::string> output_texts(const Engine& engine) {
  std::vector<std::string> texts;
  for (const Binding& output : engine.outputs()) texts.push_back(output.to_string());
  return texts;
}

void resolve_classes(Task& task, const Engine& engine) {
  check(engine.outputs().size() == 1, ErrorCode::invalid_argument,
        "task classify: expected one output [N, classes], the model has {}; say --task none",
        fmt::join(output_texts(engine), ", "));
  const Binding& output = engine.outputs()[0];
  const auto classes = class_count(output);
  check(classes.has_value(), ErrorCode::invalid_argument,
        "task classify: expected an output [N, classes], the model has {}; say --task none",
        output.to_string());
  check(task.labels.empty() || *classes < 0 || *classes == static_cast<std::int64_t>(task.labels.size()),
        ErrorCode::invalid_argument, "labels: {} were given, the model has {} classes", task.labels.size(),
        *classes);
  task.scores = output.name;
}

BoxForm box_form(const Engine& engine) {
  const std::string text = metadata(engine, "lanner.boxes");
  if (text == "xyxy-normalised") return {false, false};
  if (text == "xyxy-pixels") return {false, true};
  if (text == "cxcywh-normalised") return {true, false};
  if (text == "cxcywh-pixels") return {true, true};
  fail(ErrorCode::invalid_argument,
       "task detect: metadata lanner.boxes is '{}', expected xyxy-normalised, xyxy-pixels, cxcywh-normalised "
       "or cxcywh-pixels",
       text);
}

void resolve_detections(const TaskOptions& options, Task& task, const Engine& engine) {
  const auto three = [](const Binding& output) {
    return output.ranked && !output.sequence && output.dims.size() == 3;
  };
  const Binding *boxes = nullptr, *scores = nullptr;
  for (const Binding& output : engine.outputs()) {
    if (output.name == "boxes" && three(output)) boxes = &output;
    if (output.name == "scores" && three(output)) scores = &output;
  }
  check(boxes && scores, ErrorCode::invalid_argument,
        "task detect: expected outputs boxes [N, K, 4] and scores [N, K, classes], the model has {}; say "
        "--task none",
        fmt::join(output_texts(engine), ", "));
  task.boxes = boxes->name;
  task.scores = scores->name;
  task.form = box_form(engine);
  task.score_threshold =
      threshold(options.score_threshold, engine, "lanner.score_threshold", task.score_threshold);
  task.iou_threshold = threshold(options.iou_threshold, engine, "lanner.iou_threshold", task.iou_threshold);
}

const Tensor& output_of(const Outputs& outputs, const std::string& name) {
  const auto found = outputs.find(name);
  check(found != outputs.end() && found->second.defined(), ErrorCode::internal,
        "output {} is missing from the answers", name);
  return found->second;
}

} // namespace

void add_task_options(CLI::App& command, TaskOptions& options) {
  const std::string group = "What the outputs mean";
  command
      .add_option("--task", options.task,
                  "classify, detect or none (default: what the model's metadata says)")
      ->group(group);
  command.add_option("--labels", options.labels, "File with one class name a line")->group(group);
  command.add_option("--top", options.top, "Classes shown")
      ->group(group)
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--score-threshold", options.score_threshold, "Detections below are dropped")
      ->group(group)
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--iou-threshold", options.iou_threshold,
                  "Of two detections that overlap more, the better is kept")
      ->group(group)
      ->check(CLI::Range(0.0, 1.0));
}

const char* to_string(TaskKind kind) {
  return kind == TaskKind::classify ? "classify" : kind == TaskKind::detect ? "detect" : "none";
}

std::string Task::label(std::int64_t number) const {
  const bool known = number >= 0 && number < static_cast<std::int64_t>(labels.size());
  return known ? labels[static_cast<std::size_t>(number)] : fmt::format("class {}", number);
}

Task resolve_task(const TaskOptions& options, const Engine& engine) {
  Task task;
  task.kind = kind_of_task(options, engine);
  task.top = options.top;
  task.labels =
      options.labels.empty() ? lines_of(metadata(engine, "lanner.labels")) : read_labels(options.labels);
  if (task.kind == TaskKind::classify) resolve_classes(task, engine);
  if (task.kind == TaskKind::detect) resolve_detections(options, task, engine);
  return task;
}

std::vector<Answer> read_answers(const Task& task, const Outputs& outputs, const Preprocess& spec,
                                 std::int32_t width, std::int32_t height) {
  if (task.kind == TaskKind::classify) return classify(task, output_of(outputs, task.scores));
  if (task.kind == TaskKind::detect)
    return detect(task, output_of(outputs, task.boxes), output_of(outputs, task.scores), spec, width, height);
  return {};
}

std::vector<float> to_floats(const Tensor& tensor) {
  check(tensor.dtype() != DType::string && !is_complex(tensor.dtype()), ErrorCode::unsupported,
        "an output of {} has no numbers to show", to_string(tensor.dtype()));
  Tensor floats = Tensor::allocate(DType::f32, tensor.shape());
  copy_tensor(tensor, floats);
  const auto values = floats.as<float>();
  return {values.begin(), values.end()};
}

} // namespace lanner::tool
