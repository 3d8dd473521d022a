#include "tasks/masks.h"

#include <algorithm>
#include <cmath>

#include "base/account.h"
#include "base/check.h"

namespace lanner::tasks {

PixelRect covered(const std::array<float, 4>& edges, std::int32_t width, std::int32_t height) {
  const auto low = [](float value, std::int32_t size) {
    return static_cast<std::int32_t>(std::clamp(std::floor(value), 0.f, static_cast<float>(size)));
  };
  const auto high = [](float value, std::int32_t size) {
    return static_cast<std::int32_t>(std::clamp(std::ceil(value), 0.f, static_cast<float>(size)));
  };
  const std::int32_t x = low(edges[0], width), y = low(edges[1], height);
  return {x, y, std::max(0, high(edges[2], width) - x), std::max(0, high(edges[3], height) - y)};
}

MaskMaker::MaskMaker(const PictureRun& run, const HeadRun& head, const Rows& extras)
    : run_(run), extras_(extras) {
  if (head.has("prototypes")) {
    prototypes_ = head.part("prototypes");
    columns_ = prototypes_.dim(2);
    rows_ = prototypes_.dim(1);
  } else {
    masks_ = head.part("masks");
    const std::size_t rank = masks_.shape().rank();
    columns_ = masks_.dim(rank - 1);
    rows_ = masks_.dim(rank - 2);
    boxed_ = *run.task.head == Head::tensorflow;
    even_ = 0.5f;
    check(rank == 3 || masks_.dim(1) == 1, ErrorCode::invalid_argument,
          "task segment: masks are {}, expected {}", masks_.shape().to_string(), "[K, 1, H, W]");
    check(boxed_ || (columns_ == run.place.width && rows_ == run.place.height), ErrorCode::invalid_argument,
          "task segment: masks are {}, expected them to be of the input's size, {} x {}",
          masks_.shape().to_string(), run.place.width, run.place.height);
  }
  check(columns_ > 0 && rows_ > 0 && columns_ <= INT32_MAX && rows_ <= INT32_MAX, ErrorCode::invalid_argument,
        "task segment: masks of {} x {} are empty", columns_, rows_);
}

MaskMaker::Map MaskMaker::map_of(std::int64_t row, const PixelGrid::Bounds& bounds) const {
  Map map;
  map.left = bounds.left;
  map.top = bounds.top;
  map.width = bounds.right - bounds.left + 1;
  const std::int64_t width = map.width, height = bounds.bottom - bounds.top + 1;
  map.values.assign(static_cast<std::size_t>(width * height), 0.f);
  std::vector<float> buffer(static_cast<std::size_t>(width));
  const auto add = [&](const Values& values, std::int64_t plane, float factor) {
    for (std::int64_t y = 0; y < height; ++y) {
      const float* from =
          values.run((plane * rows_ + bounds.top + y) * columns_ + bounds.left, width, buffer.data());
      float* to = map.values.data() + y * width;
#pragma omp simd
      for (std::int64_t x = 0; x < width; ++x) to[x] += factor * from[x];
    }
  };
  if (prototypes_.defined())
    for (std::int64_t k = 0; k < extras_.count; ++k) add(prototypes_, k, extras_.at(row, k));
  else
    add(masks_, row, 1);
  return map;
}

Mask MaskMaker::operator()(const Candidate& candidate, const std::array<float, 4>& edges) const {
  check_deadline();
  Mask mask;
  mask.place = covered(edges, run_.width, run_.height);
  if (mask.place.width == 0 || mask.place.height == 0) mask.place = {mask.place.x, mask.place.y, 0, 0};
  mask.inside = Tensor::allocate(DType::u8, {mask.place.height, mask.place.width}, {}, {}, run_.limits);
  const auto inside = mask.inside.as<std::uint8_t>();
  std::ranges::fill(inside, std::uint8_t{0});
  if (inside.empty()) return mask;
  const auto& box = candidate.box;
  const MapArea area =
      boxed_ ? MapArea{box[0], box[1], static_cast<double>(box[2]) - box[0],
                       static_cast<double>(box[3]) - box[1]}
             : MapArea{0, 0, static_cast<double>(run_.place.width), static_cast<double>(run_.place.height)};
  const PixelGrid grid(run_.place.placement, mask.place, area, run_.place.width, run_.place.height, columns_,
                       rows_);
  const PixelGrid::Bounds bounds = grid.bounds();
  if (bounds.empty()) return mask;
  const Map map = map_of(candidate.row, bounds);
  std::size_t at = 0;
  for (std::int32_t y = 0; y < mask.place.height; ++y) {
    const float line = static_cast<float>(mask.place.y + y) + 0.5f;
    for (std::int32_t x = 0; x < mask.place.width; ++x, ++at) {
      const float column = static_cast<float>(mask.place.x + x) + 0.5f;
      const Tap &across = grid.across(x, y), &down = grid.down(x, y);
      if (!across.inside || !down.inside || column < edges[0] || column >= edges[2] || line < edges[1] ||
          line >= edges[3])
        continue;
      const auto blend = [&](std::int32_t row) {
        const float low = map.at(across.low, row), high = map.at(across.high, row);
        return low + across.share * (high - low);
      };
      const float top = blend(down.low), bottom = blend(down.high);
      inside[at] = top + down.share * (bottom - top) > even_ ? 1 : 0;
    }
  }
  return mask;
}

} // namespace lanner::tasks
