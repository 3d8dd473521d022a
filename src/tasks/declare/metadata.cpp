#include "tasks/declare/metadata.h"

#include <charconv>

#include "base/check.h"
#include "base/text/json.h"
#include "base/text/literal.h"
#include "tasks/declare/names.h"
#include "tasks/declare/task_check.h"

namespace lanner::tasks {
namespace {

using nlohmann::json;
using Metadata = std::map<std::string, std::string>;

constexpr float ultralytics_iou_threshold = 0.7f; // Default of ultralytics' `predict`, from YOLOv8 on.
// Used with `lanner.boxes` that lacks `lanner.score_threshold` and `lanner.iou_threshold`.
constexpr float older_score_threshold = 0.4f, older_iou_threshold = 0.5f;

const std::string* text_of(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

template<typename Body>
auto reading_key(const std::string& key, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.code() == ErrorCode::limit_exceeded ? error.code() : ErrorCode::bad_data,
                error.message())
        .within("metadata " + key);
  }
}

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
  check(static_cast<std::int64_t>(lines.size()) <= most_classes, ErrorCode::bad_data,
        "got {} lines, expected at most {}", lines.size(), most_classes);
  return lines;
}

std::string shown(const json& value) {
  return one_line(json_text(value), shown_text);
}

/// Parses `['a', 'b']` or `{0: 'a', 1: 'b'}`.
std::vector<std::string> names_of(const json& value) {
  check((value.is_object() || value.is_array()) && value.size() <= static_cast<std::size_t>(most_classes),
        ErrorCode::bad_data, "expected a dict or a list of names, got {}", shown(value));
  std::vector<std::string> names(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value.is_object())
      check(value.contains(std::to_string(i)), ErrorCode::bad_data,
            "expected names for 0 to {}, {} is missing", value.size() - 1, i);
    const json& name = value.is_object() ? value[std::to_string(i)] : value[i];
    check(name.is_string(), ErrorCode::bad_data, "name {} is {}, expected a string", i, shown(name));
    names[i] = name.get<std::string>();
  }
  return names;
}

float threshold_of(const std::string& text) {
  float value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= 1,
        ErrorCode::bad_data, "is '{}', expected a number from 0 to 1", one_line(text, shown_text));
  return value;
}

void read_boxes(const std::string& text, Task& task) {
  const std::size_t dash = text.find('-');
  const std::string_view unit = dash == std::string::npos ? "" : std::string_view(text).substr(dash + 1);
  check((text.starts_with("xyxy-") || text.starts_with("cxcywh-")) &&
            (unit == "normalised" || unit == "pixels"),
        ErrorCode::bad_data,
        "is '{}', expected xyxy-normalised, xyxy-pixels, cxcywh-normalised or cxcywh-pixels",
        one_line(text, shown_text));
  task.box_form = parse_box_form(std::string_view(text).substr(0, dash));
  task.box_normalised = unit == "normalised";
  task.head = Head::boxes_scores;
  task.class_agnostic = true;
  task.score_threshold = older_score_threshold;
  task.iou_threshold = older_iou_threshold;
}

/// `lanner.task`, and the older keys from before it was JSON.
void read_own(const Metadata& metadata, const Task& given, Declared& declared) {
  Task& task = declared.task;
  const auto read = [&](const char* key, auto&& take) {
    const std::string* text = text_of(metadata, key);
    if (!text) return;
    reading_key(key, [&] { take(*text); });
    declared.keys.emplace_back(key);
  };
  read("lanner.task", [&](const std::string& text) { task = Task::from_json(text); });
  if (task.labels.empty() && given.labels.empty())
    read("lanner.labels", [&](const std::string& text) { task.labels = lines_of(text); });
  if (!task.box_form && !task.head && task.kind.value_or(TaskKind::detect) == TaskKind::detect) {
    read("lanner.boxes", [&](const std::string& text) { read_boxes(text, task); });
    read("lanner.score_threshold",
         [&](const std::string& text) { task.score_threshold = threshold_of(text); });
    read("lanner.iou_threshold", [&](const std::string& text) { task.iou_threshold = threshold_of(text); });
  }
}

/// Ultralytics writes `names` and `stride` among others; YOLOv5 only these.
void read_ultralytics(const Metadata& metadata, const Task& given, Declared& declared) {
  const std::string *names = text_of(metadata, "names"), *task = text_of(metadata, "task");
  if (!names || !text_of(metadata, "stride")) return;
  if (given.labels.empty() && declared.task.labels.empty())
    reading_key("names", [&] { declared.task.labels = names_of(parse_literal(*names)); });
  declared.keys.emplace_back("names");
  if (task && !given.kind && !declared.task.kind) {
    reading_key("task", [&] { declared.task.kind = parse_task_kind(*task); });
    declared.keys.emplace_back("task");
  }
  if (task) declared.iou_threshold = ultralytics_iou_threshold;
  if (const std::string* points = text_of(metadata, "kpt_shape");
      points && !given.keypoints && !declared.task.keypoints) {
    reading_key("kpt_shape", [&] {
      const json shape = parse_literal(*points);
      const bool good = shape.is_array() && shape.size() == 2 && shape[0].is_number_integer() &&
                        shape[1].is_number_integer() && shape[0] >= 1 && shape[0] <= most_keypoints &&
                        shape[1] >= 2 && shape[1] <= 3;
      check(good, ErrorCode::bad_data, "is {}, expected [points, 2 or 3]", shown(shape));
      declared.task.keypoints = shape[0].get<int>();
      declared.task.keypoint_values = shape[1].get<int>();
    });
    declared.keys.emplace_back("kpt_shape");
  }
  if (const std::string* end = text_of(metadata, "end2end"); end && *end == "True") {
    declared.end_to_end = true;
    declared.keys.emplace_back("end2end");
  }
}

/// Keys that converters and people use for labels: lists, dicts or lines. `id2label` is from Hugging Face.
void read_offered(const Metadata& metadata, Declared& declared) {
  for (const char* key : {"id2label", "labels", "classes", "class_names", "names"}) {
    const std::string* text = text_of(metadata, key);
    if (!text || text->empty()) continue;
    try {
      const char first = (*text)[text->find_first_not_of(" \t\r\n") % text->size()];
      declared.offered =
          first == '[' || first == '{' || first == '(' ? names_of(parse_literal(*text)) : lines_of(*text);
    } catch (const Error&) {
      continue; // A common key, which may mean something else.
    }
    declared.offered_key = key;
    return;
  }
}

} // namespace

Declared declared_task(const Metadata& metadata, const Task& given) {
  Declared declared;
  read_own(metadata, given, declared);
  read_ultralytics(metadata, given, declared);
  if (declared.task.labels.empty() && given.labels.empty()) read_offered(metadata, declared);
  return declared;
}

} // namespace lanner::tasks
