#include "output/task.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include <lanner/error.h>

#include "check.h"
#include "input/labels.h"

namespace lanner::tool {
namespace {

/// Numbers separated by commas, blanks and line feeds; JSON's brackets are skipped.
std::vector<float> numbers_of(std::string_view text, const std::string& what) {
  std::vector<float> numbers;
  while (true) {
    const std::size_t start = text.find_first_not_of(", \t\r\n[]");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    check(error == std::errc{}, ErrorCode::invalid_argument, "{}: '{}' is no number", what,
          text.substr(0, 20));
    numbers.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  check(!numbers.empty(), ErrorCode::invalid_argument, "{}: expected numbers, got none", what);
  return numbers;
}

bool is_file(const std::string& text) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(text, ignored);
}

bool is_inline_json(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

Task task_of_json(const std::string& option, const std::string& text) {
  return with_context([&] { return option; },
                      [&] {
                        std::string json = is_inline_json(text) ? text : read_text(text, "JSON");
                        while (!json.empty() && (json.back() == '\n' || json.back() == '\r')) json.pop_back();
                        return Task::from_json(json);
                      });
}

template<typename T>
T named(const std::string& option, const std::string& text, T (*parse)(std::string_view)) {
  return with_context([&] { return option; }, [&] { return parse(text); });
}

/// `17` or `17x2`: count, and numbers of each.
void set_keypoints(const std::string& option, const std::string& text, Task& task) {
  const std::size_t cross = text.find('x');
  const auto whole = [&](std::string_view part) {
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    check(error == std::errc{} && end == part.data() + part.size() && value > 0, ErrorCode::invalid_argument,
          "{} '{}': expected their count, like 17, or 17x2 for points without visibility", option, text);
    return value;
  };
  task.keypoints = whole(std::string_view(text).substr(0, cross));
  task.keypoint_values = cross == std::string::npos ? 3 : whole(std::string_view(text).substr(cross + 1));
}

} // namespace

bool TaskOptions::given() const {
  for (const std::string* text : {&task, &head, &labels, &task_json, &box_form, &boxes, &activation, &anchors,
                                  &strides, &keypoints, &range})
    if (!text->empty()) return true;
  return score_threshold >= 0 || iou_threshold >= 0 || top > 0;
}

void add_task_options(Command& command, TaskOptions& options) {
  const std::string group = options.group("What the outputs mean");
  const auto add = [&](const char* name, std::string& into, const char* help) {
    command.add_option(options.flag(name), into, help).group(group);
  };
  add("task", options.task,
      "classify, detect, segment, semantic, depth, image, pose, obb, embed or none (default: what the "
      "model's metadata "
      "says, or what its outputs imply)");
  add("head", options.head,
      "A detector's output format: yolo_v8, yolo_v5, yolo_v10, detr, ssd... (docs/tasks.md)");
  add("labels", options.labels, "File with one class name a line, or JSON (config.json with id2label)");
  command.add_option(options.flag("top"), options.top, "How many classes are shown (default: 5)")
      .group(group)
      .range(1, 1000);
  const auto add_share = [&](const char* name, double& into, const char* help) {
    command.add_option(options.flag(name), into, help).group(group).range(0.0, 1.0);
  };
  add_share("score-threshold", options.score_threshold, "Drop detections with a lower score");
  add_share("iou-threshold", options.iou_threshold,
            "Overlap (IoU) above which the lower of two detections is dropped");
  add("box-form", options.box_form, "A box's numbers: xyxy, yxyx, xywh or cxcywh");
  add("boxes", options.boxes, "Unit of boxes: pixels of the network's input, or normalised to 0..1");
  add("activation", options.activation,
      "Function that turns scores into probabilities: none, sigmoid or softmax");
  add("anchors", options.anchors,
      "Anchors, as numbers or a file of them: width and height, or edges, of each");
  add("strides", options.strides, "Input pixels per cell of each output, like 8,16,32");
  add("keypoints", options.keypoints, "Key points of a box: 17, or 17x2 without visibility");
  add("output-range", options.range, "Values of black and white in an output that is an image, like 0,1");
  add("task-json", options.task_json, "The whole task as JSON, or a file of it; other flags override it");
}

void declare_task_files(const TaskOptions& options, Files& files) {
  files.reads(options.flag("labels"), options.labels);
  if (is_file(options.anchors)) files.reads(options.flag("anchors"), options.anchors);
  if (!is_inline_json(options.task_json)) files.reads(options.flag("task-json"), options.task_json);
}

Task given_task(const TaskOptions& options) {
  Task task;
  if (!options.task_json.empty()) task = task_of_json(options.flag("task-json"), options.task_json);
  if (!options.task.empty()) task.kind = named(options.flag("task"), options.task, parse_task_kind);
  if (!options.head.empty()) task.head = named(options.flag("head"), options.head, parse_head);
  if (!options.labels.empty()) task.labels = read_labels(options.labels);
  if (options.top > 0) task.top = options.top;
  if (options.score_threshold >= 0) task.score_threshold = static_cast<float>(options.score_threshold);
  if (options.iou_threshold >= 0) task.iou_threshold = static_cast<float>(options.iou_threshold);
  if (!options.box_form.empty())
    task.box_form = named(options.flag("box-form"), options.box_form, parse_box_form);
  if (!options.boxes.empty()) {
    check(options.boxes == "normalised" || options.boxes == "pixels", ErrorCode::invalid_argument,
          "{} '{}': expected normalised or pixels", options.flag("boxes"), options.boxes);
    task.box_normalised = options.boxes == "normalised";
  }
  if (!options.activation.empty())
    task.activation = named(options.flag("activation"), options.activation, parse_activation);
  if (!options.anchors.empty())
    task.anchors =
        numbers_of(is_file(options.anchors) ? read_text(options.anchors, "numbers") : options.anchors,
                   options.flag("anchors"));
  if (!options.strides.empty()) task.strides = numbers_of(options.strides, options.flag("strides"));
  if (!options.keypoints.empty()) set_keypoints(options.flag("keypoints"), options.keypoints, task);
  if (!options.range.empty()) {
    const std::vector<float> numbers = numbers_of(options.range, options.flag("output-range"));
    check(numbers.size() == 2, ErrorCode::invalid_argument,
          "{} '{}': expected two numbers, black and white, like 0,1", options.flag("output-range"),
          options.range);
    task.range = {numbers[0], numbers[1]};
  }
  return task;
}

Answer answer_of(const TaskResult& result, std::size_t i) {
  Answer answer;
  answer.number = result.labels.as<std::int64_t>()[i];
  answer.score = result.scores.as<float>()[i];
  if (has_boxes(result.kind))
    std::copy_n(result.boxes.as<float>().begin() + static_cast<std::ptrdiff_t>(i) * 4, 4, answer.box.begin());
  return answer;
}

std::vector<Answer> answers_of(const TaskReader& reader, const TaskResult& result) {
  std::vector<Answer> answers(static_cast<std::size_t>(result.count()));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i] = answer_of(result, i);
    answers[i].label = reader.label(answers[i].number);
  }
  return answers;
}

std::vector<float> to_floats(const Tensor& tensor) {
  check(tensor.dtype() != DType::string && !is_complex(tensor.dtype()), ErrorCode::unsupported,
        "an output of {} cannot be shown as numbers", to_string(tensor.dtype()));
  Tensor floats = Tensor::allocate(DType::f32, tensor.shape());
  copy_tensor(tensor, floats);
  const auto values = floats.as<float>();
  return {values.begin(), values.end()};
}

} // namespace lanner::tool
