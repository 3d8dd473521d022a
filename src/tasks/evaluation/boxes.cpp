// Average precision of boxes, masks, key points and rotated boxes.

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <lanner/classes.h>

#include "base/check.h"
#include "tasks/evaluation/average_precision.h"
#include "tasks/evaluation/measure.h"
#include "tasks/evaluation/runs.h"
#include "tasks/files/run_lengths.h"
#include "tasks/read/overlap.h"
#include "tasks/read/result_parts.h"

namespace lanner::tasks {
namespace {

/// The compared property of a detection, with the prefix of its metrics.
struct Subject {
  const char *prefix, *title;
};
constexpr Subject of_boxes{"", ""}, of_masks{"mask_", "mask "}, of_points{"keypoint_", "key point "},
    beside{"box_", "box "};

const std::vector<std::size_t> most_boxes{1, 10, 100}, most_points{20};

/// Spread of COCO's 17 points between annotators, relative to the person's size.
constexpr std::array<double, 17> point_spread{.026, .025, .025, .035, .035, .079, .079, .072, .072,
                                              .062, .062, .107, .107, .087, .087, .089, .089};

/// Left, top, width, height.
using CocoBox = std::array<double, 4>;

CocoBox coco_box(const std::array<float, 4>& edges) {
  return {edges[0], edges[1], static_cast<double>(edges[2]) - edges[0],
          static_cast<double>(edges[3]) - edges[1]};
}

/// For a crowd the share of the answer that is inside it.
double overlap_of(const CocoBox& found, const CocoBox& truth, bool crowd) {
  const double width = std::min(found[0] + found[2], truth[0] + truth[2]) - std::max(found[0], truth[0]);
  const double height = std::min(found[1] + found[3], truth[1] + truth[3]) - std::max(found[1], truth[1]);
  if (width <= 0 || height <= 0) return 0;
  const double shared = width * height, own = found[2] * found[3];
  return shared / (crowd ? own : own + truth[2] * truth[3] - shared);
}

double overlap_of(const Runs& found, const Runs& truth, bool crowd) {
  const auto shared = static_cast<double>(shared_area(found, truth));
  if (shared == 0) return 0;
  const auto own = static_cast<double>(area_of(found));
  return shared / (crowd ? own : own + static_cast<double>(area_of(truth)) - shared);
}

/// COCO's object keypoint similarity. For an object without labelled points all points count, by their
/// distance from its box enlarged by its size on every side.
double similarity(const ResultParts& found, std::int64_t d, const GroundTruthObject& truth) {
  double sum = 0, count = 0;
  const bool labelled = std::ranges::any_of(truth.keypoints, [](const auto& point) { return point[2] > 0; });
  const auto points = static_cast<std::size_t>(found.points);
  for (std::size_t p = 0; p < points; ++p) {
    const auto point = found.point(d, static_cast<std::int64_t>(p));
    double dx = 0, dy = 0;
    if (labelled) {
      if (truth.keypoints[p][2] <= 0) continue;
      dx = point[0] - truth.keypoints[p][0];
      dy = point[1] - truth.keypoints[p][1];
    } else {
      const CocoBox& box = truth.box;
      dx = std::max(0., box[0] - box[2] - point[0]) + std::max(0., point[0] - (box[0] + box[2] * 2));
      dy = std::max(0., box[1] - box[3] - point[1]) + std::max(0., point[1] - (box[1] + box[3] * 2));
    }
    const double spread =
        2 * (points == point_spread.size() ? point_spread[p] : 1 / static_cast<double>(points));
    sum += std::exp(-(dx * dx + dy * dy) / (spread * spread) /
                    (truth.area + std::numeric_limits<double>::epsilon()) / 2);
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

/// Area of the smallest box around the points.
double area_of_points(const ResultParts& parts, std::int64_t i) {
  if (parts.points == 0) return 0;
  double left = parts.point(i, 0)[0], right = left, top = parts.point(i, 0)[1], bottom = top;
  for (std::int64_t p = 1; p < parts.points; ++p) {
    const auto point = parts.point(i, p);
    left = std::min<double>(left, point[0]), right = std::max<double>(right, point[0]);
    top = std::min<double>(top, point[1]), bottom = std::max<double>(bottom, point[1]);
  }
  return (right - left) * (bottom - top);
}

class BoxMeasure : public Measure {
public:
  explicit BoxMeasure(const Task& task)
      : task_(task), boxes_(most_boxes, true), points_(most_points, false), masks_(most_boxes, true) {}

  void add(const TaskResult& result, const GroundTruth& truth) override {
    const ResultParts parts = parts_of(result);
    switch (result.kind) {
    case TaskKind::obb:
      return add_turned(parts, truth);
    case TaskKind::segment:
      add_masks(result, parts, truth);
      break;
    case TaskKind::pose:
      add_points(parts, truth);
      break;
    default:
      break;
    }
    std::vector<FoundObject> found = found_of(parts);
    std::vector<CocoBox> boxes;
    for (std::size_t i = 0; i < found.size(); ++i) {
      boxes.push_back(coco_box(parts.box(static_cast<std::int64_t>(i))));
      found[i].area = boxes[i][2] * boxes[i][3];
    }
    boxes_.add(found, objects_of(truth), [&](std::size_t d, std::size_t g) {
      return overlap_of(boxes[d], truth.objects[g].box, truth.objects[g].crowd);
    });
  }

  void finish(Evaluation& evaluation, std::size_t worst) const override {
    const TaskKind kind = *task_.kind;
    const bool several = kind == TaskKind::segment || kind == TaskKind::pose;
    const AveragePrecision& main = kind == TaskKind::segment ? masks_
                                   : kind == TaskKind::pose  ? points_
                                                             : boxes_;
    const Subject& subject = kind == TaskKind::segment ? of_masks
                             : kind == TaskKind::pose  ? of_points
                                                       : of_boxes;
    const PrecisionSummary summary = main.summary();
    std::optional<PrecisionSummary> second;
    if (several) second = boxes_.summary();
    tell(evaluation, subject, summary, kind == TaskKind::pose ? most_points : most_boxes);
    evaluation.metrics.push_back({"precision", "precision", summary.precision});
    evaluation.metrics.push_back({"recall", "recall", summary.recall});
    evaluation.metrics.push_back({"f1", "F1", summary.f1});
    evaluation.metrics.push_back({"threshold", "from score", summary.threshold});
    if (second) tell(evaluation, beside, *second, most_boxes);
    evaluation.threshold = summary.threshold;
    for (const ClassPrecision& one : summary.classes) {
      ClassEvaluation told{one.label, class_label(task_, one.label), one.objects, {}, {}};
      told.metrics = {{"precision", "precision", one.precision},
                      {"recall", "recall", one.recall},
                      {std::string(subject.prefix) + "ap50", std::string(subject.title) + "AP50", one.ap50},
                      {std::string(subject.prefix) + "ap", std::string(subject.title) + "AP50-95", one.ap}};
      if (second) add_second(told, *second);
      evaluation.classes.push_back(std::move(told));
    }
    tell_worst(evaluation, main.pictures(summary.threshold), worst);
  }

private:
  static std::vector<FoundObject> found_of(const ResultParts& parts) {
    std::vector<FoundObject> found;
    for (std::size_t i = 0; i < parts.labels.size(); ++i)
      found.push_back({parts.labels[i], parts.scores[i], 0});
    return found;
  }
  static std::vector<TrueObject> objects_of(const GroundTruth& truth) {
    std::vector<TrueObject> objects;
    for (const GroundTruthObject& object : truth.objects)
      objects.push_back({object.label, object.area, object.crowd, object.crowd});
    return objects;
  }

  void add_turned(const ResultParts& parts, const GroundTruth& truth) {
    std::vector<FoundObject> found = found_of(parts);
    std::vector<Turned> boxes(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::copy_n(parts.rotated.begin() + static_cast<std::ptrdiff_t>(i) * 5, 5, boxes[i].begin());
      found[i].area = static_cast<double>(boxes[i][2]) * boxes[i][3];
    }
    for (const GroundTruthObject& object : truth.objects)
      check(object.rotated.has_value(), ErrorCode::invalid_argument,
            "evaluation: an object of the ground truth has no rotated box");
    boxes_.add(found, objects_of(truth), [&](std::size_t d, std::size_t g) {
      return static_cast<double>(overlap(boxes[d], *truth.objects[g].rotated));
    });
  }

  void add_masks(const TaskResult& result, const ResultParts& parts, const GroundTruth& truth) {
    std::vector<FoundObject> found = found_of(parts);
    std::vector<Runs> masks;
    for (std::size_t i = 0; i < found.size(); ++i) {
      masks.push_back(run_lengths(result.masks[i], result.width, result.height));
      found[i].area = static_cast<double>(area_of(masks[i]));
    }
    for (const GroundTruthObject& object : truth.objects)
      check_runs(object.mask, result.width, result.height);
    masks_.add(found, objects_of(truth), [&](std::size_t d, std::size_t g) {
      return overlap_of(masks[d], truth.objects[g].mask, truth.objects[g].crowd);
    });
  }

  void add_points(const ResultParts& parts, const GroundTruth& truth) {
    std::vector<FoundObject> found = found_of(parts);
    for (std::size_t i = 0; i < found.size(); ++i)
      found[i].area = area_of_points(parts, static_cast<std::int64_t>(i));
    std::vector<TrueObject> objects = objects_of(truth);
    for (std::size_t g = 0; g < objects.size(); ++g) {
      const auto& points = truth.objects[g].keypoints;
      objects[g].ignored |= std::ranges::none_of(points, [](const auto& point) { return point[2] > 0; });
      check(points.empty() || parts.count == 0 || static_cast<std::int64_t>(points.size()) == parts.points,
            ErrorCode::invalid_argument,
            "evaluation: an object of the ground truth has {} key points, the network gives {}",
            points.size(), parts.points);
    }
    points_.add(found, objects, [&](std::size_t d, std::size_t g) {
      return similarity(parts, static_cast<std::int64_t>(d), truth.objects[g]);
    });
  }

  static void tell(Evaluation& evaluation, const Subject& subject, const PrecisionSummary& summary,
                   const std::vector<std::size_t>& most) {
    const auto add = [&](const std::string& name, const std::string& title, double value) {
      evaluation.metrics.push_back({subject.prefix + name, subject.title + title, value});
    };
    constexpr const char* sizes[] = {"", "small", "medium", "large"};
    add("ap", "mAP50-95", summary.ap);
    add("ap50", "mAP50", summary.ap50);
    add("ap75", "mAP75", summary.ap75);
    const std::size_t first = most == most_points ? 2 : 1; // COCO has no small objects with key points.
    for (std::size_t i = first; i < area_ranges; ++i)
      add(fmt::format("ap_{}", sizes[i]), fmt::format("mAP {}", sizes[i]), summary.ap_by_area[i]);
    for (std::size_t i = 0; i < most.size(); ++i)
      add(fmt::format("ar_{}", most[i]), fmt::format("AR of {}", most[i]), summary.ar_by_most[i]);
    for (std::size_t i = first; i < area_ranges; ++i)
      add(fmt::format("ar_{}", sizes[i]), fmt::format("AR {}", sizes[i]), summary.ar_by_area[i]);
  }

  static void add_second(ClassEvaluation& told, const PrecisionSummary& second) {
    const auto one = std::ranges::find(second.classes, told.number, &ClassPrecision::label);
    const bool known = one != second.classes.end();
    told.metrics.push_back({"box_ap50", "box AP50", known ? one->ap50 : not_measured});
    told.metrics.push_back({"box_ap", "box AP50-95", known ? one->ap : not_measured});
  }

  static void tell_worst(Evaluation& evaluation, const std::vector<PictureCounts>& counts,
                         std::size_t worst) {
    std::vector<Badness> bad;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i].wrong + counts[i].missed() > 0)
        bad.push_back({i, -counts[i].f1(), static_cast<double>(counts[i].wrong + counts[i].missed())});
    for (const std::size_t number : worst_of(bad, worst)) {
      const PictureCounts& one = counts[number];
      WorstImage picture;
      picture.picture = number;
      picture.score = one.f1();
      picture.caption =
          fmt::format("F1 {:.2f}: {} of {} found, {} false", one.f1(), one.right, one.objects, one.wrong);
      evaluation.worst.push_back(std::move(picture));
    }
  }

  const Task task_;
  AveragePrecision boxes_, points_, masks_;
};

} // namespace

std::unique_ptr<Measure> measure_boxes(const Task& task) {
  return std::make_unique<BoxMeasure>(task);
}

} // namespace lanner::tasks
