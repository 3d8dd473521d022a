#include <algorithm>
#include <cmath>
#include <numeric>

#include <lanner/classes.h>
#include <lanner/evaluation.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "tasks/evaluation/measure.h"
#include "tasks/evaluation/runs.h"
#include "tasks/files/formats.h"

namespace lanner {
namespace tasks {

std::vector<std::size_t> worst_of(std::vector<Badness> all, std::size_t count) {
  std::ranges::stable_sort(all, [](const Badness& a, const Badness& b) {
    return a.first != b.first ? a.first > b.first : a.second > b.second;
  });
  std::vector<std::size_t> numbers;
  for (const Badness& one : std::span(all).first(std::min(count, all.size()))) numbers.push_back(one.picture);
  return numbers;
}

} // namespace tasks

namespace {

using tasks::Measure;

std::unique_ptr<Measure> measure_of(const Task& task) {
  check(task.kind && can_evaluate(*task.kind), ErrorCode::invalid_argument,
        "evaluation: task {} cannot be evaluated; expected classify, detect, segment, pose, obb or "
        "semantic",
        task.kind ? to_string(*task.kind) : "unknown");
  if (*task.kind == TaskKind::classify) return tasks::measure_classes(task);
  if (*task.kind == TaskKind::semantic) return tasks::measure_pixels(task);
  return tasks::measure_boxes(task);
}

OrderedJson json_number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson();
}

Tensor floats(std::initializer_list<std::int64_t> shape) {
  return Tensor::allocate(DType::f32, shape);
}

void add_boxes(TaskResult& result, const GroundTruth& truth) {
  const auto count = static_cast<std::int64_t>(truth.objects.size());
  result.labels = Tensor::allocate(DType::i64, {count});
  result.scores = floats({count});
  result.boxes = floats({count, 4});
  if (result.kind == TaskKind::obb) result.rotated = floats({count, 5});
  std::size_t points = 0;
  for (const GroundTruthObject& object : truth.objects) points = std::max(points, object.keypoints.size());
  if (result.kind == TaskKind::pose) result.keypoints = floats({count, static_cast<std::int64_t>(points), 3});
  for (std::size_t i = 0; i < truth.objects.size(); ++i) {
    const GroundTruthObject& object = truth.objects[i];
    result.labels.as<std::int64_t>()[i] = object.label;
    result.scores.as<float>()[i] = 1;
    float* box = result.boxes.as<float>().data() + i * 4;
    const double edges[] = {object.box[0], object.box[1], object.box[0] + object.box[2],
                            object.box[1] + object.box[3]};
    for (std::size_t k = 0; k < 4; ++k)
      box[k] = static_cast<float>(std::clamp<double>(edges[k], 0, k % 2 == 0 ? result.width : result.height));
    if (result.kind == TaskKind::obb)
      std::ranges::copy(object.rotated.value_or(std::array<float, 5>{}),
                        result.rotated.as<float>().begin() + static_cast<std::ptrdiff_t>(i * 5));
    if (result.kind == TaskKind::segment)
      result.masks.push_back(tasks::mask_of_runs(object.mask, result.width, result.height));
    for (std::size_t p = 0; p < points && result.kind == TaskKind::pose; ++p) {
      const bool labelled = p < object.keypoints.size() && object.keypoints[p][2] > 0;
      float* point = result.keypoints.as<float>().data() + (i * points + p) * 3;
      for (std::size_t k = 0; k < 2; ++k)
        point[k] = p < object.keypoints.size() ? static_cast<float>(object.keypoints[p][k]) : 0.f;
      point[2] = labelled ? 1.f : 0.f;
    }
  }
}

} // namespace

bool can_evaluate(TaskKind kind) noexcept {
  return kind == TaskKind::classify || kind == TaskKind::semantic || has_boxes(kind);
}

TaskResult result_of_ground_truth(const GroundTruth& truth, TaskKind kind, std::int32_t width,
                                  std::int32_t height) {
  check(can_evaluate(kind), ErrorCode::invalid_argument, "evaluation: task {} has no ground truth",
        to_string(kind));
  TaskResult result;
  result.kind = kind;
  result.width = width;
  result.height = height;
  if (kind == TaskKind::semantic) {
    result.classes = truth.classes;
  } else if (kind == TaskKind::classify) {
    result.labels = Tensor::allocate(DType::i64, {1});
    result.labels.as<std::int64_t>()[0] = truth.label;
    result.scores = floats({1});
    result.scores.as<float>()[0] = 1;
  } else {
    add_boxes(result, truth);
  }
  return result;
}

double Evaluation::metric(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  if (found != metrics.end()) return found->value;
  std::vector<std::string> names;
  for (const Metric& one : metrics) names.push_back(one.name);
  fail(ErrorCode::not_found, "evaluation: no metric '{}' for task {}; expected one of {}{}", name,
       to_string(kind), joined(names, ", "), did_you_mean(name, names));
}

std::string Evaluation::to_json() const {
  OrderedJson json{{"task", std::string(to_string(kind))},
                   {"images", images},
                   {"failed", failed},
                   {"seconds", seconds},
                   {"metrics", OrderedJson::object()},
                   {"classes", OrderedJson::array()},
                   {"worst", OrderedJson::array()},
                   {"notes", notes}};
  for (const Metric& one : metrics) json["metrics"][one.name] = json_number(one.value);
  for (const ClassEvaluation& one : classes) {
    OrderedJson told{{"class", one.number}, {"label", one.label}, {"count", one.count}};
    for (const Metric& metric : one.metrics) told[metric.name] = json_number(metric.value);
    if (!one.remark.empty()) told["remark"] = one.remark;
    json["classes"].push_back(std::move(told));
  }
  for (const WorstImage& one : worst)
    json["worst"].push_back(
        {{"source", one.source}, {"score", json_number(one.score)}, {"caption", one.caption}});
  return json_text(json);
}

struct Evaluator::State {
  Task task;
  std::size_t worst = 0;
  std::unique_ptr<Measure> measure;
  std::vector<std::string> sources;
};

Evaluator::Evaluator(Task task, std::size_t worst) : state_(std::make_unique<State>()) {
  state_->measure = measure_of(task);
  state_->task = std::move(task);
  state_->worst = worst;
}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

void Evaluator::add(const std::string& source, const TaskResult& result, const GroundTruth& truth) {
  check(result.kind == *state_->task.kind, ErrorCode::invalid_argument,
        "evaluation: got a result of task {}, expected {}", to_string(result.kind),
        to_string(*state_->task.kind));
  state_->measure->add(result, truth);
  state_->sources.push_back(source);
}

Evaluation Evaluator::finish() const {
  Evaluation evaluation;
  evaluation.kind = *state_->task.kind;
  evaluation.images = static_cast<std::int64_t>(state_->sources.size());
  state_->measure->finish(evaluation, state_->worst);
  for (WorstImage& picture : evaluation.worst) picture.source = state_->sources[picture.picture];
  return evaluation;
}

std::int64_t class_count(const Engine& engine, const Task& resolved) {
  if (!resolved.labels.empty()) return static_cast<std::int64_t>(resolved.labels.size());
  const bool pixels = resolved.kind == TaskKind::semantic;
  if (!pixels && resolved.kind != TaskKind::classify) return 0;
  const auto named = resolved.outputs.find(pixels ? "classes" : "scores");
  for (const Binding& output : engine.outputs()) {
    if (named == resolved.outputs.end() ? engine.outputs().size() > 1 : output.name != named->second)
      continue;
    const std::vector<std::int64_t>& dims = output.dims;
    if (!pixels && !dims.empty()) return std::max<std::int64_t>(dims[dims.size() > 1 ? 1 : 0], 0);
    if (!pixels || dims.size() != 4 || !is_float(output.dtype)) continue;
    return std::max<std::int64_t>(dims[resolved.channels_last.value_or(false) ? 3 : 1], 0);
  }
  return 0;
}

Task evaluation_task(const Task& resolved, const Task& given, std::string& note) {
  constexpr float least_score = 0.001f;
  constexpr int detections = 100, top = 5;
  Task task = resolved;
  note.clear();
  if (task.kind == TaskKind::classify) task.top = std::max(task.top.value_or(top), top);
  if (!task.kind || !has_boxes(*task.kind)) return task;
  if (!given.score_threshold) task.score_threshold = least_score;
  if (!given.max_detections) task.max_detections = std::max(task.max_detections.value_or(300), detections);
  note = fmt::format("detections from a score of {:g} on, {} a picture at most, suppressed {}",
                     task.score_threshold.value_or(0), task.max_detections.value_or(0),
                     task.iou_threshold ? fmt::format("above an IoU of {:g}", *task.iou_threshold)
                                        : "by the network alone");
  return task;
}

} // namespace lanner
