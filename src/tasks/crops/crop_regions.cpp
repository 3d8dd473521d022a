#include "tasks/crops/crop_regions.h"

#include <algorithm>
#include <cmath>

#include "tasks/read/grid.h"
#include "tasks/read/masks.h"
#include "tasks/read/result_parts.h"

namespace lanner::tasks {

std::vector<PixelRect> crop_regions(const TaskResult& found, std::span<const std::int64_t> classes,
                                    const CropOptions& options) {
  const ResultParts parts = parts_of(found);
  std::vector<PixelRect> regions(static_cast<std::size_t>(parts.count));
  std::int64_t left = options.max_boxes > 0 ? options.max_boxes : parts.count;
  for (std::int64_t i = 0; i < parts.count && left > 0; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!classes.empty() && std::ranges::find(classes, parts.labels[at]) == classes.end()) continue;
    std::array<float, 4> box = parts.box(i);
    const float across = (box[2] - box[0]) * options.margin, down = (box[3] - box[1]) * options.margin;
    if (!(across >= 0 && down >= 0)) continue; // Not a box: empty, or not finite.
    box = {box[0] - across, box[1] - down, box[2] + across, box[3] + down};
    if (!std::ranges::all_of(box, [](float edge) { return std::isfinite(edge); })) continue;
    const PixelRect region = covered(box, found.width, found.height);
    if (!(box[2] > box[0] && box[3] > box[1]) || region.width == 0 || region.height == 0) continue;
    regions[at] = region;
    --left;
  }
  return regions;
}

PixelRect seen_region(const Preprocess& spec, const PixelRect& region) {
  if (spec.fit != Fit::crop) return region;
  Preprocess of_region = spec;
  of_region.region = region;
  const std::int32_t right = region.x + region.width, bottom = region.y + region.height;
  const InputGeometry input = input_geometry(of_region, right, bottom);
  const auto from = input.placement.to_source(0, 0);
  const auto to =
      input.placement.to_source(static_cast<double>(input.width), static_cast<double>(input.height));
  const auto range = [](double a, double b, std::int32_t low, std::int32_t high) {
    const auto edge = [&](double value) {
      return std::clamp(static_cast<std::int32_t>(std::lround(value)), low, high);
    };
    const std::int32_t first = std::min(edge(std::min(a, b)), high - 1);
    return std::pair{first, std::max(1, edge(std::max(a, b)) - first)};
  };
  const auto [x, width] = range(from[0], to[0], region.x, right);
  const auto [y, height] = range(from[1], to[1], region.y, bottom);
  return {x, y, width, height};
}

TaskResult empty_result(const Task& task) {
  TaskResult result;
  result.kind = *task.kind;
  const auto none = [](DType type, std::initializer_list<std::int64_t> dims) {
    return Tensor::allocate(type, Shape(dims));
  };
  const bool boxes = has_boxes(result.kind);
  if (boxes || result.kind == TaskKind::classify) {
    result.labels = none(DType::i64, {0});
    result.scores = none(DType::f32, {0});
  }
  if (boxes) result.boxes = none(DType::f32, {0, 4});
  if (result.kind == TaskKind::obb) result.rotated = none(DType::f32, {0, 5});
  if (result.kind == TaskKind::pose) result.keypoints = none(DType::f32, {0, *task.keypoints, 3});
  if (result.kind == TaskKind::semantic) result.classes = none(DType::i32, {0, 0});
  if (result.kind == TaskKind::depth) result.depth = none(DType::f32, {0, 0});
  if (result.kind == TaskKind::embed) result.embedding = none(DType::f32, {0});
  return result;
}

} // namespace lanner::tasks
