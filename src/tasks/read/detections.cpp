// Steps that all heads share: suppression, the number limit, and coordinates in the picture.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "tasks/cuda/rows.h"
#include "tasks/cuda/suppress.h"
#include "tasks/heads/head.h"
#include "tasks/read/masks.h"
#include "tasks/read/reader.h"
#include "tasks/read/suppress.h"

namespace lanner::tasks {
namespace {

constexpr int most_candidates = 30'000; ///< The best candidates, which suppression compares.
// For a network on a GPU: fewer candidates are compared on the host, as copying them takes longer.
constexpr std::size_t least_there = 8192;

/// The part's dims after the batch's; dims of one element that exporters leave are dropped.
Values part_values(const PictureRun& run, const Part& part, const std::string& output) {
  const auto found = run.outputs.find(output);
  if (part.shared && found != run.outputs.end() &&
      (found->second.rank() == part.ranks || found->second.shape()[0] == 1))
    return element_values(run.outputs, output, part.name, 0, part.ranks);
  if (found == run.outputs.end() || found->second.rank() <= part.ranks + 1)
    return element_values(run.outputs, output, part.name, run.element, part.ranks);
  Outputs squeezed{{output, found->second}};
  Tensor& tensor = squeezed.begin()->second;
  if (!tensor.layout().row_major()) tensor = tensor.clone();
  Shape shape = tensor.shape();
  for (std::size_t d = shape.rank(); d-- > 1 && shape.rank() > part.ranks + 1;)
    if (shape[d] == 1) {
      std::vector<std::int64_t> dims = shape.dims();
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
      shape = Shape(std::move(dims));
    }
  tensor = tensor.reshaped(std::move(shape));
  return element_values(squeezed, output, part.name, run.element, part.ranks);
}

HeadRun head_run(const PictureRun& run, const HeadRow& row) {
  HeadRun head{run.task,
               {},
               run.input.width,
               run.input.height,
               *run.task.score_threshold,
               static_cast<std::size_t>(std::max(most_candidates, *run.task.max_detections)),
               {}};
  for (const auto& [name, output] : run.task.outputs) {
    const auto part = std::ranges::find(row.parts, name, &Part::name);
    check(part != row.parts.end(), ErrorCode::invalid_argument,
          "head {}: outputs has the part '{}', expected {}", to_string(row.head), name, row.expects);
    head.parts.emplace(name, part_values(run, *part, output));
  }
  for (const auto& [name, values] : head.parts)
    if (values.remote()) head.device = values.tensor().device();
  return head;
}

/// From outputs on a GPU, copies the rows that count and other parts that the head reads to the host; masks
/// are computed
/// there.
void bring_down(HeadRun& head, const HeadRow& row) {
  if (head.device.is_host()) return;
  if (row.scans)
    for (const RowScan& scan : row.scans(head)) choose_rows(head, scan);
  for (auto& [name, values] : head.parts)
    if (name != "prototypes" && name != "masks") values = values.on_host();
}

/// Remaining candidates, best first; the input is in that order.
std::vector<Candidate> chosen(const Task& task, Device device, std::vector<Candidate> all) {
  const auto most = static_cast<std::size_t>(*task.max_detections);
  if (!task.iou_threshold) {
    all.resize(std::min(all.size(), most));
    return all;
  }
  all.resize(std::min<std::size_t>(all.size(), most_candidates));
  std::vector<Edges> upright;
  std::vector<Turned> turned;
  std::vector<float> scores;
  std::vector<std::int64_t> labels;
  for (const Candidate& one : all) {
    if (*task.kind == TaskKind::obb)
      turned.push_back({one.box[0], one.box[1], one.box[2], one.box[3], one.angle});
    else
      upright.push_back({std::min(one.box[0], one.box[2]), std::min(one.box[1], one.box[3]),
                         std::max(one.box[0], one.box[2]), std::max(one.box[1], one.box[3])});
    scores.push_back(one.score);
    if (!*task.class_agnostic) labels.push_back(one.label);
  }
  std::vector<Candidate> kept;
  const bool gaussian = *task.kind == TaskKind::obb; // As in networks that rotate boxes.
  const Suppression given{upright, turned, scores, labels, *task.iou_threshold, *task.max_detections,
                          gaussian};
  const bool there = !device.is_host() && !gaussian && all.size() >= least_there;
  for (const std::int64_t i : there ? cuda::suppressed_there(device, given) : suppressed(given))
    kept.push_back(all[static_cast<std::size_t>(i)]);
  return kept;
}

/// From pixels of the input to pixels of the picture.
Edges source_edges(const Placement& placement, const std::array<float, 4>& box) {
  const auto from = placement.to_source(box[0], box[1]), to = placement.to_source(box[2], box[3]);
  return {static_cast<float>(std::min(from[0], to[0])), static_cast<float>(std::min(from[1], to[1])),
          static_cast<float>(std::max(from[0], to[0])), static_cast<float>(std::max(from[1], to[1]))};
}

/// The direction of the width and the area are restored exactly; where the picture was stretched a rectangle
/// became a parallelogram, for which the nearest such rectangle is returned.
Turned source_turned(const Placement& placement, const Candidate& one) {
  const double determinant = placement.xx * placement.yy - placement.xy * placement.yx;
  const auto direction = [&](double x, double y) {
    return std::array{(placement.yy * x - placement.xy * y) / determinant,
                      (placement.xx * y - placement.yx * x) / determinant};
  };
  const double angle = one.angle;
  const auto along = direction(std::cos(angle), std::sin(angle));
  const auto centre = placement.to_source(one.box[0], one.box[1]);
  const double longer = std::hypot(along[0], along[1]);
  const double across = 1 / (std::abs(determinant) * longer);
  return {static_cast<float>(centre[0]), static_cast<float>(centre[1]),
          static_cast<float>(one.box[2] * longer), static_cast<float>(one.box[3] * across),
          static_cast<float>(std::atan2(along[1], along[0]))};
}

Edges cut(const Edges& box, std::int32_t width, std::int32_t height) {
  const auto edge = [](float value, std::int32_t size) {
    return std::clamp(value, 0.f, static_cast<float>(size));
  };
  return {edge(box[0], width), edge(box[1], height), edge(box[2], width), edge(box[3], height)};
}

/// x, y, confidence of each point, in pixels of the picture.
void write_points(const PictureRun& run, const Rows& extras, const Candidate& one, float* to) {
  const std::int64_t points = *run.task.keypoints, values = *run.task.keypoint_values;
  for (std::int64_t p = 0; p < points; ++p, to += 3) {
    const auto point =
        run.input.placement.to_source(extras.at(one.row, p * values), extras.at(one.row, p * values + 1));
    to[0] = static_cast<float>(point[0]);
    to[1] = static_cast<float>(point[1]);
    to[2] = values == 3 ? extras.at(one.row, p * values + 2) : 1.f;
    check(std::isfinite(to[0]) && std::isfinite(to[1]) && std::isfinite(to[2]), ErrorCode::bad_data,
          "task pose: key point {} of box {} is not finite", p, extras.values.number(one.row));
  }
}

/// Boxes in the picture, without those entirely outside of it.
struct Placed {
  std::vector<Candidate> all;
  std::vector<Edges> whole, boxes;
  std::vector<Turned> turned;
};

Placed placed(const PictureRun& run, const Rows& extras, std::vector<Candidate> chosen) {
  Placed result;
  for (Candidate& one : chosen) {
    const bool rotated = *run.task.kind == TaskKind::obb;
    check(!rotated || std::isfinite(one.angle), ErrorCode::bad_data,
          "task obb: the angle of box {} is not finite", extras.values.number(one.row));
    const Turned turned = rotated ? source_turned(run.input.placement, one) : Turned{};
    const Edges whole = rotated ? around(turned) : source_edges(run.input.placement, one.box);
    const Edges box = cut(whole, run.width, run.height);
    if (!(area(box) > 0)) continue;
    result.all.push_back(one);
    result.whole.push_back(whole);
    result.boxes.push_back(box);
    if (rotated) result.turned.push_back(turned);
  }
  return result;
}

template<std::size_t N>
Tensor tensor_of(const std::vector<std::array<float, N>>& rows) {
  Tensor tensor =
      Tensor::allocate(DType::f32, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(N)});
  float* to = tensor.as<float>().data();
  for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
  return tensor;
}

} // namespace

void read_detections(const PictureRun& run, TaskResult& result) {
  const HeadRow& row = head_row(*run.task.head);
  HeadRun head = head_run(run, row);
  bring_down(head, row);
  Candidates found = row.decode(head);
  const Placed kept = placed(run, found.extras, chosen(run.task, head.device, found.take()));
  const auto count = static_cast<std::int64_t>(kept.all.size());
  result.labels = Tensor::allocate(DType::i64, {count});
  result.scores = Tensor::allocate(DType::f32, {count});
  for (std::size_t i = 0; i < kept.all.size(); ++i) {
    result.labels.as<std::int64_t>()[i] = kept.all[i].label;
    result.scores.as<float>()[i] = kept.all[i].score;
  }
  result.boxes = tensor_of(kept.boxes);
  if (result.kind == TaskKind::obb) result.rotated = tensor_of(kept.turned);
  if (result.kind == TaskKind::pose) {
    const std::int64_t points = *run.task.keypoints, numbers = points * *run.task.keypoint_values;
    check(found.extras.count == numbers, ErrorCode::invalid_argument,
          "task pose: the outputs have {} numbers of key points a box, expected {}: keypoints {} times "
          "keypoint_values {}",
          found.extras.count, numbers, points, *run.task.keypoint_values);
    result.keypoints = Tensor::allocate(DType::f32, {count, points, 3}, {}, {}, run.limits);
    for (std::int64_t i = 0; i < count; ++i)
      write_points(run, found.extras, kept.all[static_cast<std::size_t>(i)],
                   result.keypoints.as<float>().data() + i * points * 3);
  }
  if (result.kind == TaskKind::segment) {
    const MaskMaker masks(run, head, found.extras);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < kept.all.size(); ++i) {
      const PixelRect rect = covered(kept.boxes[i], run.width, run.height);
      bytes += static_cast<std::uint64_t>(rect.width) * static_cast<std::uint64_t>(rect.height);
      check_limit("total_bytes", bytes, run.limits.total_bytes,
                  "task segment: masks of {} objects take {} bytes", i + 1, bytes);
    }
    result.masks = masks(kept.all, kept.whole);
  }
}

} // namespace lanner::tasks
