#include "tasks/read/masks.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/limits/account.h"

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
    : run_(run), extras_(extras), prototypes_(head.has("prototypes")) {
  if (prototypes_) {
    planes_ = head.part("prototypes");
    columns_ = planes_.dim(2);
    rows_ = planes_.dim(1);
  } else {
    planes_ = head.part("masks");
    const std::size_t rank = planes_.shape().rank();
    columns_ = planes_.dim(rank - 1);
    rows_ = planes_.dim(rank - 2);
    boxed_ = *run.task.head == Head::tensorflow;
    even_ = 0.5f;
    check(rank == 3 || planes_.dim(1) == 1, ErrorCode::invalid_argument,
          "task segment: masks are {}, expected {}", planes_.shape().to_string(), "[K, 1, H, W]");
    check(boxed_ || (columns_ == run.input.width && rows_ == run.input.height), ErrorCode::invalid_argument,
          "task segment: masks are {}, expected the input's size, {} x {}", planes_.shape().to_string(),
          run.input.width, run.input.height);
  }
  check(columns_ > 0 && rows_ > 0 && columns_ <= INT32_MAX && rows_ <= INT32_MAX, ErrorCode::invalid_argument,
        "task segment: masks of {} x {} are empty", columns_, rows_);
  const MapArea input{0, 0, static_cast<double>(run.input.width), static_cast<double>(run.input.height)};
  if (!boxed_)
    whole_.emplace(run.input.placement, PixelRect{0, 0, run.width, run.height}, input, run.input.width,
                   run.input.height, columns_, rows_);
}

PixelGrid MaskMaker::boxed_grid(const Candidate& object, const PixelRect& place) const {
  const auto& box = object.box;
  const MapArea area{box[0], box[1], static_cast<double>(box[2]) - box[0],
                     static_cast<double>(box[3]) - box[1]};
  return {run_.input.placement, place, area, run_.input.width, run_.input.height, columns_, rows_};
}

MaskRegion MaskMaker::region_of(const Candidate& object, const std::array<float, 4>& edges) const {
  MaskRegion result;
  result.place = covered(edges, run_.width, run_.height);
  result.edges = edges;
  PixelRect& place = result.place;
  if (place.width == 0 || place.height == 0) {
    place.width = place.height = 0;
    return result;
  }
  if (boxed_) {
    result.own = std::make_shared<const PixelGrid>(boxed_grid(object, place));
    result.bounds = result.own->bounds();
  } else {
    result.bounds = whole_->bounds(place);
  }
  if (prototypes_) {
    for (std::int64_t k = 0; k < extras_.count; ++k) result.coefficients.push_back(extras_.at(object.row, k));
  } else {
    result.plane = object.row;
    result.coefficients = {1};
  }
  const std::int64_t planes = planes_.size() / (columns_ * rows_);
  check(result.plane + static_cast<std::int64_t>(result.coefficients.size()) <= planes,
        ErrorCode::invalid_argument, "task segment: got {} masks, object {} has none", planes, object.row);
  return result;
}

std::vector<float> MaskMaker::map_of(const MaskRegion& region) const {
  const PixelGrid::Bounds& bounds = region.bounds;
  const std::int64_t width = bounds.right - bounds.left + 1, height = bounds.bottom - bounds.top + 1;
  std::vector<float> map(static_cast<std::size_t>(width * height), 0.f);
  std::vector<float> buffer(static_cast<std::size_t>(width));
  for (std::size_t k = 0; k < region.coefficients.size(); ++k) {
    const std::int64_t plane = region.plane + static_cast<std::int64_t>(k);
    const float factor = region.coefficients[k];
    for (std::int64_t y = 0; y < height; ++y) {
      const float* from =
          planes_.run((plane * rows_ + bounds.top + y) * columns_ + bounds.left, width, buffer.data());
      float* to = map.data() + y * width;
#pragma omp simd
      for (std::int64_t x = 0; x < width; ++x) to[x] += times(factor, from[x]);
    }
  }
  return map;
}

Mask MaskMaker::made(const Candidate& object, const std::array<float, 4>& edges) const {
  check_deadline();
  const MaskRegion where = region_of(object, edges);
  const PixelRect& place = where.place;
  Mask mask;
  mask.place = place;
  mask.inside = Tensor::allocate(DType::u8, {place.height, place.width}, {}, {}, run_.limits);
  const auto inside = mask.inside.as<std::uint8_t>();
  std::ranges::fill(inside, std::uint8_t{0});
  if (inside.empty() || where.bounds.empty()) return mask;
  const std::vector<float> map = map_of(where);
  const PixelGrid::Bounds& bounds = where.bounds;
  const std::int64_t width = bounds.right - bounds.left + 1;
  LineGrid grid =
      where.own ? LineGrid(*where.own, {0, 0, place.width, place.height}) : LineGrid(*whole_, place);
  // Pixels whose centres are inside the box.
  const bool turned = grid.position_step != 1;
  const auto within = [&](std::int64_t i, bool columns) {
    const float centre = static_cast<float>((columns ? place.x : place.y) + i) + 0.5f;
    return centre >= edges[columns ? 0 : 1] && centre < edges[columns ? 2 : 3];
  };
  while (grid.first < grid.last && !within(grid.first, !turned)) ++grid.first;
  while (grid.last > grid.first && !within(grid.last - 1, !turned)) --grid.last;
  for_each_line(
      grid, [&](std::int32_t y) { return map.data() + std::int64_t{y - bounds.top} * width - bounds.left; },
      [&](std::int64_t line, const RowPair& pair) {
        if (!within(line, turned)) return;
        std::uint8_t* const to = inside.data() + line * grid.line_step;
        if (grid.position_step == 1) {
#pragma omp simd
          for (std::int64_t i = grid.first; i < grid.last; ++i) to[i] = pair.at(i) > even_ ? 1 : 0;
        } else {
          for (std::int64_t i = grid.first; i < grid.last; ++i)
            to[i * grid.position_step] = pair.at(i) > even_ ? 1 : 0;
        }
      });
  return mask;
}

std::vector<Mask> MaskMaker::operator()(std::span<const Candidate> objects,
                                        std::span<const std::array<float, 4>> edges) const {
  std::vector<Mask> masks;
  if (planes_.remote()) {
    std::vector<MaskRegion> regions;
    for (std::size_t i = 0; i < objects.size(); ++i) regions.push_back(region_of(objects[i], edges[i]));
    const std::int64_t each = prototypes_ ? extras_.count : 1;
    const Placement& placement = run_.input.placement;
    return cuda::masks_there({planes_, columns_, rows_, each, whole_ ? &*whole_ : nullptr,
                              placement.xx == 0 && placement.xy != 0, even_},
                             regions, run_.limits);
  }
  for (std::size_t i = 0; i < objects.size(); ++i) masks.push_back(made(objects[i], edges[i]));
  return masks;
}

} // namespace lanner::tasks
