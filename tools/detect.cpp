// Boxes in a picture.

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "boxes.h"
#include "check.h"
#include "task.h"

namespace lanner::tool {
namespace {

/// One of the network's boxes as edges in pixels of its input.
Box input_box(const float* values, BoxForm form, const Preprocess& spec) {
  Box box{values[0], values[1], values[2], values[3]};
  if (form.centre) box = {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
  if (form.pixels) return box;
  return {box[0] * spec.width, box[1] * spec.height, box[2] * spec.width, box[3] * spec.height};
}

/// From pixels of the network's input to pixels of the picture, cut at its edges.
Box source_box(const Box& box, const Placement& place, std::int32_t width, std::int32_t height) {
  const auto from = place.to_source(box[0], box[1]), to = place.to_source(box[2], box[3]);
  const auto edge = [](double value, std::int32_t size) {
    return std::clamp(value, 0.0, static_cast<double>(size));
  };
  return {edge(std::min(from[0], to[0]), width), edge(std::min(from[1], to[1]), height),
          edge(std::max(from[0], to[0]), width), edge(std::max(from[1], to[1]), height)};
}

} // namespace

double box_iou(const Box& a, const Box& b) {
  const auto area = [](const Box& box) {
    return std::max(0.0, box[2] - box[0]) * std::max(0.0, box[3] - box[1]);
  };
  const double across = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               down = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const double shared = std::max(0.0, across) * std::max(0.0, down);
  const double whole = area(a) + area(b) - shared;
  return whole > 0 ? shared / whole : 0;
}

std::vector<Answer> detect(const Task& task, const Tensor& boxes, const Tensor& scores,
                           const Preprocess& spec, std::int32_t width, std::int32_t height) {
  const Shape& shape = scores.shape();
  check(shape.rank() == 3 && shape[0] == 1 && shape[2] > 0 && boxes.shape() == Shape{1, shape[1], 4},
        ErrorCode::invalid_argument,
        "task detect: boxes are {} and scores {}, expected [1, K, 4] and [1, K, classes]",
        boxes.shape().to_string(), shape.to_string());
  const std::vector<float> places = to_floats(boxes), values = to_floats(scores);
  const Placement place = placement(spec, width, height);
  const std::int64_t classes = shape[2];
  std::vector<Answer> candidates;
  for (std::int64_t k = 0; k < shape[1]; ++k) {
    const float* row = values.data() + k * classes;
    const std::int64_t best = std::max_element(row, row + classes) - row;
    const float* corners = places.data() + k * 4;
    const bool finite = std::all_of(corners, corners + 4, [](float value) { return std::isfinite(value); });
    if (!finite || !(row[best] >= task.score_threshold)) continue;
    candidates.push_back({task.label(best), best, row[best],
                          source_box(input_box(corners, task.form, spec), place, width, height)});
  }
  std::ranges::stable_sort(candidates, std::ranges::greater{}, &Answer::score);
  std::vector<Answer> kept;
  for (Answer& candidate : candidates) {
    const bool doubled = std::ranges::any_of(
        kept, [&](const Answer& better) { return box_iou(better.box, candidate.box) >= task.iou_threshold; });
    if (!doubled) kept.push_back(std::move(candidate));
  }
  return kept;
}

} // namespace lanner::tool
