#pragma once
// Maps as the kernels of task_maps.cu read them: masks of objects, class and depth maps, images. Also plain
// C++, so that it is tested without a GPU.

#include <cmath>
#include <cstdint>

#include "tasks/read/arithmetic.h"
#include "tasks/read/tap.h"

namespace lanner::tasks::cuda {

/// Taps in the map for each column and row of a picture; after an odd number of quarter turns a column is a
/// position down the map.
struct TapTable {
  const Tap* columns = nullptr;
  const Tap* rows = nullptr;
  bool turned = false;

  LANNER_HOST_DEVICE Tap across(std::int64_t x, std::int64_t y) const {
    return turned ? rows[y] : columns[x];
  }
  LANNER_HOST_DEVICE Tap down(std::int64_t x, std::int64_t y) const { return turned ? columns[x] : rows[y]; }
};

/// Bilinear interpolation; `at(x, y)` is an element of the map.
template<typename At>
LANNER_HOST_DEVICE float blend_four(const Tap& across, const Tap& down, const At& at) {
  const float top = between(at(across.low, down.low), at(across.high, down.low), across.share);
  const float bottom = between(at(across.low, down.high), at(across.high, down.high), across.share);
  return between(top, bottom, down.share);
}

/// Elements of a map: channel c at (x, y) is element c * channel + y * row + x * column.
struct MapParameters {
  const void* values = nullptr;
  std::int64_t size = 0; ///< Elements in total.
  std::int64_t channel = 0, row = 0, column = 0;
  std::int32_t channels = 0, map_width = 0, map_height = 0;
  std::int32_t width = 0, height = 0; ///< Of the picture.
  TapTable taps;
  std::int32_t* best = nullptr;       ///< Written: the class of each map position.
  std::int32_t* not_finite = nullptr; ///< Set to 1.
  void* to = nullptr;                 ///< i32 or f32 [height, width].
  float even = 0;                     ///< For one channel: class 1 above this.
  float unseen = 0;                   ///< For pixels that the network did not see.
};

LANNER_HOST_DEVICE inline bool finite_number(float value) {
  return value - value == 0;
}

/// The class at a map position.
template<typename Load>
LANNER_HOST_DEVICE void find_best(const MapParameters& p, std::int64_t place, const Load& load) {
  const std::int64_t y = place / p.map_width, x = place - y * p.map_width;
  const std::int64_t at = y * p.row + x * p.column;
  float most = load(at);
  std::int32_t best = 0;
  bool finite = finite_number(most);
  for (std::int32_t c = 1; c < p.channels; ++c) {
    const float value = load(at + c * p.channel);
    finite = finite && finite_number(value);
    if (value > most) {
      most = value;
      best = c;
    }
  }
  p.best[place] = best;
  if (!finite) *p.not_finite = 1;
}

/// Channel `c` interpolated between map positions.
template<typename Load>
LANNER_HOST_DEVICE float channel_between(const MapParameters& p, std::int32_t c, const Tap& across,
                                         const Tap& down, const Load& load) {
  return blend_four(across, down, [&](std::int32_t x, std::int32_t y) {
    return load(c * p.channel + y * p.row + x * p.column);
  });
}

/// The class of pixel `i`: scores are interpolated, then the best class is taken; where all four positions
/// have the same best class, it is that.
template<typename Load>
LANNER_HOST_DEVICE void find_class(const MapParameters& p, std::int64_t i, const Load& load) {
  const std::int64_t y = i / p.width, x = i - y * p.width;
  const Tap across = p.taps.across(x, y), down = p.taps.down(x, y);
  auto* const to = static_cast<std::int32_t*>(p.to) + i;
  if (!across.inside || !down.inside) {
    *to = -1;
    return;
  }
  if (p.channels == 1) {
    *to = channel_between(p, 0, across, down, load) > p.even ? 1 : 0;
    return;
  }
  const std::int64_t top = std::int64_t{down.low} * p.map_width,
                     bottom = std::int64_t{down.high} * p.map_width;
  const std::int32_t first = p.best[top + across.low];
  std::int32_t chosen = first;
  if (first != p.best[top + across.high] || first != p.best[bottom + across.low] ||
      first != p.best[bottom + across.high]) {
    float most = 0;
    for (std::int32_t c = 0; c < p.channels; ++c) {
      const float score = channel_between(p, c, across, down, load);
      if (c > 0 && !(score > most)) continue;
      most = score;
      chosen = c;
    }
  }
  *to = chosen;
}

/// The value of pixel `i`.
template<typename Load>
LANNER_HOST_DEVICE void find_number(const MapParameters& p, std::int64_t i, const Load& load) {
  const std::int64_t y = i / p.width, x = i - y * p.width;
  const Tap across = p.taps.across(x, y), down = p.taps.down(x, y);
  static_cast<float*>(p.to)[i] =
      across.inside && down.inside ? channel_between(p, 0, across, down, load) : p.unseen;
}

/// An rgb24 image of a part of a map with one or three channels.
struct PictureParameters {
  const void* values = nullptr;
  std::int64_t size = 0;
  std::int64_t channel = 0, row = 0, column = 0;
  std::int32_t channels = 0, x = 0, y = 0, width = 0, height = 0;
  bool bgr = false;
  float black = 0, scale = 0;
  std::int32_t* not_finite = nullptr;
  std::uint8_t* to = nullptr;
};

/// Byte `i` of the image.
template<typename Load>
LANNER_HOST_DEVICE void find_byte(const PictureParameters& p, std::int64_t i, const Load& load) {
  const std::int64_t pixel = i / 3, c = i - pixel * 3, y = pixel / p.width, x = pixel - y * p.width;
  const std::int64_t source = p.channels == 1 ? 0 : p.bgr ? 2 - c : c;
  const float value =
      times(load(source * p.channel + (p.y + y) * p.row + (p.x + x) * p.column) - p.black, p.scale);
  p.to[i] = static_cast<std::uint8_t>(lroundf(value < 0 ? 0.f : value > 255 ? 255.f : value));
}

/// One object's mask.
struct MaskObject {
  std::int64_t plane = 0;                                        ///< Its first plane.
  std::int64_t coefficients = 0;                                 ///< Index of its first coefficient.
  std::int64_t map = 0;                                          ///< Index of its map's first element.
  std::int64_t pixels = 0;                                       ///< Index of its mask's first byte.
  std::int64_t columns = 0, rows = 0;                            ///< Indices of its mask's first taps.
  std::int32_t left = 0, top = 0, map_width = 0, map_height = 0; ///< Part of the planes that it reads.
  std::int32_t x = 0, y = 0, width = 0, height = 0;              ///< Of the picture.
  float edges[4] = {};
};

/// Planes [.., plane_height, plane_width]; an object's map is the sum of `each` of them, weighted by
/// coefficients.
struct MaskParameters {
  const void* values = nullptr;
  std::int64_t plane_width = 0, plane_height = 0, each = 0;
  std::int32_t count = 0; ///< Of objects.
  const MaskObject* objects = nullptr;
  const float* coefficients = nullptr;
  const Tap* taps = nullptr;
  bool turned = false;
  float even = 0;
  float* maps = nullptr;
  std::uint8_t* pixels = nullptr;
};

/// Element `i` of an object's map.
template<typename Load>
LANNER_HOST_DEVICE void find_map(const MaskParameters& p, const MaskObject& o, std::int64_t i,
                                 const Load& load) {
  const std::int64_t y = i / o.map_width, x = i - y * o.map_width;
  const std::int64_t plane = p.plane_width * p.plane_height;
  const std::int64_t at = o.plane * plane + (o.top + y) * p.plane_width + o.left + x;
  float sum = 0;
  for (std::int64_t k = 0; k < p.each; ++k)
    sum += times(p.coefficients[o.coefficients + k], load(at + k * plane));
  p.maps[o.map + i] = sum;
}

/// Byte `i` of an object's mask.
LANNER_HOST_DEVICE inline void find_mask(const MaskParameters& p, const MaskObject& o, std::int64_t i) {
  const std::int64_t y = i / o.width, x = i - y * o.width;
  const TapTable taps{p.taps + o.columns, p.taps + o.rows, p.turned};
  const Tap across = taps.across(x, y), down = taps.down(x, y);
  const float column = static_cast<float>(o.x + x) + 0.5f, line = static_cast<float>(o.y + y) + 0.5f;
  bool inside = across.inside && down.inside && column >= o.edges[0] && column < o.edges[2] &&
                line >= o.edges[1] && line < o.edges[3];
  if (inside) {
    const float* map = p.maps + o.map;
    inside = blend_four(across, down, [&](std::int32_t mx, std::int32_t my) {
               return map[std::int64_t{my - o.top} * o.map_width + (mx - o.left)];
             }) > p.even;
  }
  p.pixels[o.pixels + i] = inside ? 1 : 0;
}

} // namespace lanner::tasks::cuda
