#include "tasks/results.h"

#include <algorithm>

namespace lanner {
namespace {

template<std::size_t N>
Tensor rows_of(const std::vector<std::array<float, N>>& rows) {
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return Tensor::from<float>(values, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(N)});
}

void add_classes(TaskResult& result, std::size_t count, std::vector<std::int64_t> labels = {}) {
  std::vector<float> scores;
  for (std::size_t i = labels.size(); i < count; ++i) labels.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < count; ++i) scores.push_back(0.9f - 0.1f * static_cast<float>(i));
  result.labels = Tensor::from<std::int64_t>(labels, {static_cast<std::int64_t>(count)});
  result.scores = Tensor::from<float>(scores, {static_cast<std::int64_t>(count)});
}

} // namespace

TaskResult result_of(TaskKind kind, std::int32_t width, std::int32_t height) {
  TaskResult result;
  result.kind = kind;
  result.width = width;
  result.height = height;
  return result;
}

TaskResult boxes_result(TaskKind kind, std::int32_t width, std::int32_t height,
                        const std::vector<Box4>& boxes, std::vector<std::int64_t> labels) {
  TaskResult result = result_of(kind, width, height);
  add_classes(result, boxes.size(), std::move(labels));
  result.boxes = rows_of(boxes);
  return result;
}

TaskResult classes_result(std::int32_t width, std::int32_t height, const std::vector<std::int64_t>& labels,
                          const std::vector<float>& scores) {
  TaskResult result = result_of(TaskKind::classify, width, height);
  result.labels = Tensor::from<std::int64_t>(labels, {static_cast<std::int64_t>(labels.size())});
  result.scores = Tensor::from<float>(scores, {static_cast<std::int64_t>(scores.size())});
  return result;
}

TaskResult rotated_result(std::int32_t width, std::int32_t height, const std::vector<Box5>& boxes) {
  TaskResult result = result_of(TaskKind::obb, width, height);
  add_classes(result, boxes.size());
  result.rotated = rows_of(boxes);
  return result;
}

Mask mask_of(std::int32_t x, std::int32_t y, const std::vector<std::string_view>& rows) {
  const auto height = static_cast<std::int32_t>(rows.size());
  const auto width = static_cast<std::int32_t>(rows.empty() ? 0 : rows[0].size());
  Mask mask{{x, y, width, height}, Tensor::zeros(DType::u8, {height, width})};
  const auto pixels = mask.inside.as<std::uint8_t>();
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < rows[i].size(); ++k)
      pixels[i * rows[0].size() + k] = rows[i][k] == '#' ? 1 : 0;
  return mask;
}

TaskResult masks_result(std::int32_t width, std::int32_t height, std::vector<Mask> masks) {
  std::vector<Box4> boxes;
  for (const Mask& mask : masks)
    boxes.push_back({static_cast<float>(mask.place.x), static_cast<float>(mask.place.y),
                     static_cast<float>(mask.place.x + mask.place.width),
                     static_cast<float>(mask.place.y + mask.place.height)});
  TaskResult result = boxes_result(TaskKind::segment, width, height, boxes);
  result.masks = std::move(masks);
  return result;
}

} // namespace lanner
