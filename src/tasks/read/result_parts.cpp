#include "tasks/read/result_parts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"

namespace lanner {
namespace {

void check_mask(const TaskResult& result, std::size_t i) {
  const Mask& mask = result.masks[i];
  const PixelRect& place = mask.place;
  check(place.x >= 0 && place.y >= 0 && place.width >= 0 && place.height >= 0 &&
            place.width <= result.width - place.x && place.height <= result.height - place.y,
        ErrorCode::invalid_argument,
        "result: mask {} is at ({}, {}) with {}x{} pixels, the picture has {}x{}", i, place.x, place.y,
        place.width, place.height, result.width, result.height);
  if (place.width == 0 || place.height == 0) return;
  elements_of<std::uint8_t>(mask.inside, {place.height, place.width}, "masks");
}

void check_crop(const TaskResult& result, const TaskResult& crop) {
  check(crop.kind == *result.crop_task->kind, ErrorCode::invalid_argument,
        "result: a crop of the task {}, crop_task is {}", to_string(crop.kind),
        to_string(*result.crop_task->kind));
  check(crop.crops.empty(), ErrorCode::invalid_argument, "result: a crop has crops; expected none");
  const PixelRect& region = crop.region;
  check(region.x >= 0 && region.y >= 0 && region.width >= 0 && region.height >= 0 &&
            region.width <= result.width - region.x && region.height <= result.height - region.y,
        ErrorCode::invalid_argument, "result: a crop is at ({}, {}) with {}x{} pixels, the picture has {}x{}",
        region.x, region.y, region.width, region.height, result.width, result.height);
  const bool placed = has_boxes(crop.kind) && !region.whole();
  check(!placed || (crop.width == result.width && crop.height == result.height), ErrorCode::invalid_argument,
        "result: boxes of a crop are for a picture of {}x{} pixels, expected {}x{}", crop.width, crop.height,
        result.width, result.height);
}

void read_boxes(const TaskResult& result, ResultParts& parts) {
  const bool turned = result.kind == TaskKind::obb;
  if (turned) parts.rotated = elements_of<float>(result.rotated, {parts.count, 5}, "rotated");
  if (!turned || result.boxes.defined())
    parts.boxes = elements_of<float>(result.boxes, {parts.count, 4}, "boxes");
  if (result.kind == TaskKind::pose) {
    parts.keypoints = elements_of<float>(result.keypoints, {parts.count, -1, 3}, "keypoints");
    parts.points = result.keypoints.shape()[1];
  }
  if (result.kind == TaskKind::segment) {
    check(static_cast<std::int64_t>(result.masks.size()) == parts.count, ErrorCode::invalid_argument,
          "result: {} masks for {} boxes", result.masks.size(), parts.count);
    for (std::size_t i = 0; i < result.masks.size(); ++i) check_mask(result, i);
  }
  if (result.crops.empty()) return;
  check(static_cast<std::int64_t>(result.crops.size()) == parts.count, ErrorCode::invalid_argument,
        "result: {} crops for {} boxes", result.crops.size(), parts.count);
  check(result.crop_task && result.crop_task->kind, ErrorCode::invalid_argument,
        "result: crops without crop_task; expected the second network's task");
  for (const TaskResult& crop : result.crops) check_crop(result, crop);
}

} // namespace

template<typename T>
std::span<const T> elements_of(const Tensor& tensor, std::initializer_list<std::int64_t> shape,
                               const char* part) {
  const bool fits =
      tensor.defined() && tensor.dtype() == dtype_of<T>() && tensor.device().is_host() &&
      tensor.layout().row_major() &&
      std::equal(shape.begin(), shape.end(), tensor.shape().begin(), tensor.shape().end(),
                 [](std::int64_t wanted, std::int64_t size) { return wanted < 0 || wanted == size; });
  check(fits, ErrorCode::invalid_argument, "result: {} is {}, expected {}[{}] in rows on the host", part,
        tensor.defined() ? fmt::format("{}{} on {}", to_string(tensor.dtype()), tensor.shape().to_string(),
                                       tensor.device().to_string())
                         : "missing",
        to_string(dtype_of<T>()), fmt::join(shape, ", "));
  return tensor.as<T>().first(static_cast<std::size_t>(tensor.elements()));
}
template std::span<const float> elements_of(const Tensor&, std::initializer_list<std::int64_t>, const char*);
template std::span<const std::uint8_t> elements_of(const Tensor&, std::initializer_list<std::int64_t>,
                                                   const char*);
template std::span<const std::int32_t> elements_of(const Tensor&, std::initializer_list<std::int64_t>,
                                                   const char*);
template std::span<const std::int64_t> elements_of(const Tensor&, std::initializer_list<std::int64_t>,
                                                   const char*);

const TaskResult* crop_of(const TaskResult& result, std::int64_t i) {
  return result.crops.empty() ? nullptr : &result.crops[static_cast<std::size_t>(i)];
}

ResultParts parts_of(const TaskResult& result) {
  ResultParts parts;
  parts.labels = elements_of<std::int64_t>(result.labels, {-1}, "labels");
  parts.count = static_cast<std::int64_t>(parts.labels.size());
  parts.scores = elements_of<float>(result.scores, {parts.count}, "scores");
  if (has_boxes(result.kind)) read_boxes(result, parts);
  return parts;
}

std::array<float, 4> ResultParts::box(std::int64_t i) const {
  if (!boxes.empty()) {
    const float* at = boxes.data() + i * 4;
    return {at[0], at[1], at[2], at[3]};
  }
  const std::array<Corner, 4> around = corners(i);
  std::array<float, 4> edges{around[0][0], around[0][1], around[0][0], around[0][1]};
  for (const Corner& corner : around)
    edges = {std::min(edges[0], corner[0]), std::min(edges[1], corner[1]), std::max(edges[2], corner[0]),
             std::max(edges[3], corner[1])};
  return edges;
}

std::array<Corner, 4> ResultParts::corners(std::int64_t i) const {
  const float* at = rotated.data() + i * 5;
  const float c = std::cos(at[4]), s = std::sin(at[4]);
  const float across_x = at[2] / 2 * c, across_y = at[2] / 2 * s, down_x = -at[3] / 2 * s,
              down_y = at[3] / 2 * c;
  return {Corner{at[0] - across_x - down_x, at[1] - across_y - down_y},
          Corner{at[0] + across_x - down_x, at[1] + across_y - down_y},
          Corner{at[0] + across_x + down_x, at[1] + across_y + down_y},
          Corner{at[0] - across_x + down_x, at[1] - across_y + down_y}};
}

std::span<const float, 3> ResultParts::point(std::int64_t i, std::int64_t p) const {
  return std::span<const float, 3>(keypoints.data() + (i * points + p) * 3, 3);
}

} // namespace lanner
