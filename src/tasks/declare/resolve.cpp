#include "tasks/declare/resolve.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "tasks/declare/metadata.h"
#include "tasks/declare/names.h"
#include "tasks/declare/task_check.h"
#include "tasks/declare/task_fields.h"
#include "tasks/heads/head.h"
#include "tasks/read/maps.h"

namespace lanner::tasks {
namespace {

constexpr float default_score = 0.25f, default_iou = 0.45f;
constexpr int default_detections = 300, default_top = 5;

/// The metadata's task, as far as it agrees with the given kind and head.
Task fitting(Task declared, const Task& given) {
  Task labels;
  labels.labels = declared.labels;
  if (given.kind && declared.kind && *given.kind != *declared.kind) return labels;
  if (given.head && declared.head && *given.head != *declared.head) {
    labels.kind = declared.kind;
    labels.keypoints = declared.keypoints;
    labels.keypoint_values = declared.keypoint_values;
    labels.skeleton = declared.skeleton;
    return labels;
  }
  return declared;
}

std::vector<Reading> readings_of(const Facts& facts) {
  std::vector<Reading> readings;
  const auto& kind = facts.wanted.kind;
  // For other networks the shapes of image outputs mean nothing.
  const bool any = facts.pictures || kind || facts.wanted.head;
  if (any && (!kind || has_boxes(*kind)))
    for (const HeadRow* row : head_rows()) {
      const bool has_kind = !kind || std::ranges::find(row->kinds, *kind) != row->kinds.end();
      if (has_kind && (!facts.wanted.head || facts.asked(row->head))) row->propose(facts, readings);
    }
  if (!facts.wanted.head && (!kind || !has_boxes(*kind))) propose_maps(facts, readings);
  std::erase_if(readings, [&](const Reading& reading) {
    return kind ? reading.task.kind != kind : !any && reading.task.kind != TaskKind::classify;
  });
  const auto strongest =
      std::ranges::max_element(readings, {}, [](const Reading& reading) { return reading.ground; });
  if (strongest == readings.end()) return readings;
  const Ground ground = strongest->ground;
  std::erase_if(readings, [&](const Reading& reading) { return reading.ground != ground; });
  return readings;
}

/// The outputs that a kind requires.
std::string expected(const Task& wanted) {
  if (wanted.head) return std::string(head_row(*wanted.head).expects);
  switch (wanted.kind.value_or(TaskKind::none)) {
  case TaskKind::classify:
    return "one output [N, classes]";
  case TaskKind::semantic:
    return "one output [N, C, h, w] or [N, h, w, C], or whole numbers [N, h, w]";
  case TaskKind::depth:
    return "one output [N, h, w], [N, 1, h, w] or [N, h, w, 1]";
  case TaskKind::image:
    return "one output [N, 3 or 1, h, w] or [N, h, w, 3 or 1]";
  case TaskKind::embed:
    return "one output [N, D]";
  default:
    break;
  }
  std::string text;
  for (const HeadRow* row : head_rows())
    if (std::ranges::find(row->kinds, *wanted.kind) != row->kinds.end())
      text += fmt::format("{}{} ({})", text.empty() ? "" : "; or ", row->expects, to_string(row->head));
  return text;
}

[[noreturn]] void fail_unread(const Facts& facts) {
  const Task& wanted = facts.wanted;
  fail(ErrorCode::invalid_argument,
       "task {}{}: the model has {}{}; expected {}; give head or outputs, or task none for numbers",
       wanted.kind ? to_string(*wanted.kind) : "detect",
       wanted.head ? fmt::format(", head {}", to_string(*wanted.head)) : "", outputs_text(facts.outputs),
       wanted.labels.empty() ? "" : fmt::format(", there are {} labels", wanted.labels.size()),
       expected(wanted) +
           (wanted.kind == TaskKind::pose && !wanted.keypoints ? ", and keypoints given" : ""));
}

[[noreturn]] void fail_several(const Facts& facts, const std::vector<Reading>& readings) {
  std::vector<std::string> texts, ways;
  for (const Reading& reading : readings) {
    texts.push_back(reading.text);
    const std::string kind(to_string(*reading.task.kind));
    std::string way = "--task " + kind;
    if (reading.task.head) way += fmt::format(" --head {}", to_string(*reading.task.head));
    if (std::ranges::find(ways, way) == ways.end()) ways.push_back(std::move(way));
  }
  fail(ErrorCode::invalid_argument,
       "task: outputs {} may be {}; choose by task and head (and labels), on the command line {}, or task "
       "none for numbers",
       outputs_text(facts.outputs), joined(texts, ", or "), joined(ways, " or "));
}

/// Refuses values that the head's outputs cannot be read by.
void check_forms(const Task& task) {
  if (task.activation == Activation::softmax && is_used("activation", task))
    check(scored_by_row(task), ErrorCode::invalid_argument,
          "task {}, head {}: activation is softmax, expected none or sigmoid; softmax is for the heads "
          "boxes_scores, detr, rt_detr, ssd and retinanet",
          to_string(*task.kind), to_string(*task.head));
  if (anchored(task))
    check(task.box_form == BoxForm::cxcywh || task.box_form == BoxForm::yxyx, ErrorCode::invalid_argument,
          "task {}, head {}: box_form is {}, expected cxcywh (offsets of x, y, width, height) or yxyx (of y, "
          "x, height, width)",
          to_string(*task.kind), to_string(*task.head), to_string(*task.box_form));
}

void complete_detector(Task& task) {
  const HeadRow& row = head_row(*task.head);
  const auto set = [](auto& field, auto value) {
    if (!field) field = value;
  };
  check(std::ranges::find(row.kinds, *task.kind) != row.kinds.end(), ErrorCode::invalid_argument,
        "task {}: head {} has none", to_string(*task.kind), to_string(row.head));
  if (row.head == Head::boxes_scores)
    check(task.box_form.has_value() && task.box_normalised.has_value(), ErrorCode::invalid_argument,
          "task detect, head boxes_scores: the model does not declare its box format; give box_form (xyxy, "
          "yxyx, "
          "xywh or cxcywh) and box_normalised (true for shares of the input, false for its pixels)");
  // Rotated boxes of networks that suppress are also centre and size.
  const bool turned = task.kind == TaskKind::obb;
  set(task.box_form, turned ? BoxForm::cxcywh : row.form);
  set(task.box_normalised, row.normalised);
  set(task.activation, row.activation);
  check_forms(task);
  if (!task.first_class && row.first_class != first_class_of(row, task)) set(task.background, 0);
  set(task.first_class, first_class_of(row, task));
  if (row.background != last_class) set(task.background, row.background);
  set(task.score_threshold, default_score);
  if (!row.suppresses) set(task.iou_threshold, default_iou);
  set(task.max_detections, default_detections);
  set(task.class_agnostic, false);
  if (row.head == Head::ssd && task.box_scales.empty()) task.box_scales = {10, 10, 5, 5};
  if (row.head == Head::retinanet && task.box_scales.empty()) task.box_scales = {1, 1, 1, 1};
  const bool anchors = row.head == Head::ssd || row.head == Head::retinanet || row.head == Head::yolo_v5_raw;
  check(!anchors || !task.anchors.empty() || task.outputs.contains("anchors"), ErrorCode::invalid_argument,
        "task detect, head {}: anchors are missing; give {}", to_string(row.head),
        row.head == Head::yolo_v5_raw ? "anchors: width and height of each in pixels, by stride"
                                      : "anchors: left, top, right, bottom of each in pixels of the input");
  check(task.anchors.size() % (row.head == Head::yolo_v5_raw ? 2 : 4) == 0, ErrorCode::invalid_argument,
        "task detect, head {}: got {} numbers of anchors, expected {} for each", to_string(row.head),
        task.anchors.size(), row.head == Head::yolo_v5_raw ? 2 : 4);
  check(task.kind != TaskKind::pose || (task.keypoints && task.keypoint_values), ErrorCode::invalid_argument,
        "task pose: the number of key points of a box is not known; give keypoints and keypoint_values (2: "
        "x, y; "
        "3: "
        "with visibility)");
}

/// Whether the first label is the background's, so that class numbers count from it.
bool names_none(const std::vector<std::string>& labels) {
  Task named;
  named.labels = labels;
  const HeadRow& row = head_row(Head::torchvision);
  return first_class_of(row, named) != row.first_class;
}

void complete(Task& task, const Facts& facts) {
  if (has_boxes(*task.kind)) complete_detector(task);
  if (task.kind == TaskKind::classify && !task.top) task.top = default_top;
  if (task.kind == TaskKind::image) {
    if (!task.bgr) task.bgr = false;
    const Binding* output = facts.given("image");
    if (!task.range && output && output->dtype == DType::u8) task.range = {0.f, 255.f};
  }
  if (task.kind == TaskKind::depth && task.color_map.empty()) task.color_map = "magma";
  const Binding* boxes = facts.given("boxes");
  if (task.head == Head::torchvision && boxes && has_rank(*boxes, 3))
    check(facts.wanted.first_class || names_none(task.labels), ErrorCode::invalid_argument,
          "task {}, head torchvision: lists with a batch may number classes from 0 or from 1; give "
          "first_class, by "
          "task JSON: {{\"first_class\": 1}}",
          to_string(*task.kind));
}

/// `the model's metadata (task, names) and the outputs' shapes`.
std::string sources_text(const Task& given, const std::vector<std::string>& keys, const Task& wanted,
                         const Reading& reading) {
  std::vector<std::string> sources;
  if (given != Task()) sources.emplace_back("what was given");
  if (!keys.empty()) sources.push_back(fmt::format("the model's metadata ({})", joined(keys, ", ")));
  const bool detector = has_boxes(*reading.task.kind);
  if (!wanted.kind || (detector && !wanted.head) || wanted.outputs.empty())
    sources.emplace_back(reading.ground == Ground::names ? "the outputs' names and types"
                                                         : "the outputs' shapes");
  std::string text;
  for (std::size_t i = 0; i < sources.size(); ++i)
    text += (i == 0 ? "" : i + 1 == sources.size() ? " and " : ", ") + sources[i];
  return text;
}

std::string found_text(const Task& task, std::int64_t classes) {
  std::string text(to_string(*task.kind));
  if (task.head) text += fmt::format(", head {}", to_string(*task.head));
  const auto count = classes >= 0 ? classes : static_cast<std::int64_t>(task.labels.size());
  if (count > 0 && task.kind != TaskKind::image && task.kind != TaskKind::depth &&
      task.kind != TaskKind::embed)
    text += fmt::format(", {} {}", count, count == 1 ? "class" : "classes");
  if (task.kind == TaskKind::pose) text += fmt::format(", {} key points", *task.keypoints);
  if (task.kind == TaskKind::image)
    text += task.range ? fmt::format(", black is {}, white {}", (*task.range)[0], (*task.range)[1])
                       : std::string(", black and white as the input's");
  return text;
}

/// Labels as many as one reading's classes distinguish it from other readings.
void keep_labelled(std::vector<Reading>& readings, const std::vector<std::string>& labels) {
  const auto other = [&](const Reading& reading) {
    return reading.classes != static_cast<std::int64_t>(labels.size());
  };
  if (!labels.empty() && std::ranges::count_if(readings, other) + 1 == std::ssize(readings))
    std::erase_if(readings, other);
}

} // namespace

ResolvedTask resolve(Facts facts, const std::map<std::string, std::string>& metadata) {
  const Task given = facts.wanted;
  check_task(given, ErrorCode::invalid_argument);
  if (given.kind == TaskKind::none) {
    check_used(given, given);
    return {given, "none, numbers, by what was given"};
  }
  Declared declared = declared_task(metadata, given);
  const Task found = fitting(std::move(declared.task), given);
  fill(facts.wanted, found);
  facts.end_to_end = declared.end_to_end;
  if (facts.wanted.head && !facts.wanted.kind) {
    const auto kinds = head_row(*facts.wanted.head).kinds;
    if (kinds.size() == 1) facts.wanted.kind = kinds[0];
  }
  if (facts.wanted.kind == TaskKind::none)
    return {facts.wanted,
            fmt::format("none, numbers, by the model's metadata ({})", joined(declared.keys, ", "))};
  std::vector<Reading> readings = readings_of(facts);
  if (readings.size() > 1) keep_labelled(readings, declared.offered);
  if (readings.size() > 1) fail_several(facts, readings);
  if (readings.empty()) {
    if (facts.wanted.kind || facts.wanted.head) fail_unread(facts);
    ResolvedTask none;
    none.task.kind = TaskKind::none;
    none.task.labels = facts.wanted.labels;
    none.reason = fmt::format("none, numbers: the meaning of outputs {} is not known; give task and head",
                              outputs_text(facts.outputs));
    return none;
  }
  const Reading& reading = readings[0];
  ResolvedTask resolved;
  resolved.task = facts.wanted;
  // The reading names all outputs, and agrees with the given ones.
  resolved.task.outputs = reading.task.outputs;
  fill(resolved.task, reading.task);
  if (resolved.task.labels.empty() && reading.classes == static_cast<std::int64_t>(declared.offered.size())) {
    resolved.task.labels = declared.offered;
    if (!declared.offered.empty()) declared.keys.push_back(declared.offered_key);
  }
  if (reading.classes >= 0) check_class_count(resolved.task, reading.classes);
  if (declared.iou_threshold && resolved.task.head && !resolved.task.iou_threshold &&
      !head_row(*resolved.task.head).suppresses)
    resolved.task.iou_threshold = declared.iou_threshold;
  resolved.reason = sources_text(given, declared.keys, facts.wanted, reading);
  facts.wanted.outputs = reading.task.outputs;
  complete(resolved.task, facts);
  check_used(given, resolved.task);
  std::vector<std::string> read;
  for (const auto& [part, output] : reading.task.outputs) read.push_back(part);
  for (const auto& [part, output] : given.outputs)
    check(reading.task.outputs.contains(part), ErrorCode::invalid_argument,
          "task {}: outputs has the unknown part '{}'; expected {}", reading.text, one_line(part, shown_text),
          joined(read, ", "));
  for_each_field([&](const char* key, auto field) { // From metadata, which other programs may use.
    if (!is_used(key, resolved.task)) resolved.task.*field = {};
  });
  resolved.reason = found_text(resolved.task, reading.classes) + ", by " + resolved.reason;
  return resolved;
}

Facts facts_of(const Engine& engine, const Task& given) {
  Facts facts;
  facts.wanted = given;
  for (const Binding& output : engine.outputs())
    if (!output.sequence) facts.outputs.push_back(output);
  for (const Binding& input : engine.inputs()) {
    if (!input.image.empty()) {
      const auto spec = engine.preprocess(input.name);
      facts.width = spec->width;
      facts.height = spec->height;
      return facts;
    }
    const bool single = has_rank(input, 3); // One image, without a batch.
    if (input.sequence || (!has_rank(input, 4) && !single)) continue;
    const std::size_t first = single ? 0 : 1;
    const auto channels = [&](std::size_t i) {
      return input.dims[i] == 1 || input.dims[i] == 3 || (!single && input.dims[i] == 4);
    };
    if (single && (!is_float(input.dtype) || (!channels(0) && !channels(2)))) continue;
    const bool last = !channels(first) && channels(first + 2);
    facts.height = std::max<std::int64_t>(0, input.dims[last ? first : first + 1]);
    facts.width = std::max<std::int64_t>(0, input.dims[last ? first + 1 : first + 2]);
    return facts;
  }
  facts.pictures = false;
  return facts;
}

} // namespace lanner::tasks

namespace lanner {

ResolvedTask resolve_task(const Engine& engine, const Task& given) {
  return tasks::resolve(tasks::facts_of(engine, given), engine.metadata());
}

ResolvedTask resolve_task(const Engine& engine, const Task& given, const Preprocess& spec) {
  tasks::Facts facts = tasks::facts_of(engine, given);
  const bool one_size = spec.multiple == 1; // Else it follows the image's.
  if (facts.pictures && facts.width == 0 && one_size) facts.width = spec.width;
  if (facts.pictures && facts.height == 0 && one_size) facts.height = spec.height;
  return tasks::resolve(std::move(facts), engine.metadata());
}

} // namespace lanner
