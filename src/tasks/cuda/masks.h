#pragma once
// Computes masks from planes on a GPU and copies them to the host.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include <lanner/task.h>

#include "tasks/read/grid.h"
#include "tasks/read/values.h"

namespace lanner::tasks {

/// One object's mask: its place in the picture and its source.
struct MaskRegion {
  PixelRect place;                      ///< In the picture; empty: no pixels.
  std::array<float, 4> edges{};         ///< Its box, in pixels of the picture.
  std::shared_ptr<const PixelGrid> own; ///< The grid of `place`; null: the picture's.
  PixelGrid::Bounds bounds;             ///< Part of the planes; empty: the network saw none of it.
  std::int64_t plane = 0;               ///< Its first plane.
  std::vector<float> coefficients;      ///< Weight of each plane in its map.
};

namespace cuda {

struct MaskPlanes {
  const Values& values; ///< Remote: [.., rows, columns].
  std::int64_t columns, rows;
  std::int64_t each;      ///< Planes of one object.
  const PixelGrid* whole; ///< The picture's; null where each object has its own.
  bool turned;
  float even;
};
/// Masks of objects in order. All have `planes.each` coefficients.
std::vector<Mask> masks_there(const MaskPlanes& planes, std::span<const MaskRegion> objects,
                              const Limits& limits);

} // namespace cuda
} // namespace lanner::tasks
