#pragma once
// Masks of planes that lie on a GPU: they are made there, and come to the host.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include <lanner/task.h>

#include "tasks/read/grid.h"
#include "tasks/read/values.h"

namespace lanner::tasks {

/// Where one object's mask lies, and what it is read from.
struct MaskPlace {
  PixelRect place;                      ///< Of the picture; empty: there is no pixel.
  std::array<float, 4> edges{};         ///< Of its box, in pixels of the picture.
  std::shared_ptr<const PixelGrid> own; ///< Its grid, of `place`; null: the picture's.
  PixelGrid::Bounds bounds;             ///< Part of the planes; empty: the network saw none of it.
  std::int64_t plane = 0;               ///< Its first plane.
  std::vector<float> coefficients;      ///< Of each plane that its map is the sum of.
};

namespace cuda {

struct MaskPlanes {
  const Values& values; ///< Remote: [.., rows, columns].
  std::int64_t columns, rows;
  std::int64_t each;      ///< Planes of one object.
  const PixelGrid* whole; ///< Of the picture; null where each object has its own.
  bool turned;
  float even;
};
/// Masks of objects in order. All have as many coefficients as `planes.each`.
std::vector<Mask> masks_there(const MaskPlanes& planes, std::span<const MaskPlace> objects,
                              const Limits& limits);

} // namespace cuda
} // namespace lanner::tasks
