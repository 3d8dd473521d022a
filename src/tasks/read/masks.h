#pragma once
// Masks of objects, in pixels of the picture.

#include <optional>

#include "tasks/cuda/masks.h"
#include "tasks/heads/head.h"
#include "tasks/read/lines.h"
#include "tasks/read/reader.h"

namespace lanner::tasks {

/// Object masks: pixels inside the box with a value above even.
class MaskMaker {
public:
  MaskMaker(const PictureRun& run, const HeadRun& head, const Rows& extras);
  /// `edges` are their boxes in pixels of the picture; Candidate::box is in pixels of the network's input.
  std::vector<Mask> operator()(std::span<const Candidate> objects,
                               std::span<const std::array<float, 4>> edges) const;

private:
  Mask made(const Candidate& object, const std::array<float, 4>& edges) const;
  std::vector<float> map_of(const MaskRegion& region) const;
  MaskRegion region_of(const Candidate& object, const std::array<float, 4>& edges) const;
  /// The position of each pixel of the object's box in the network's map.
  PixelGrid boxed_grid(const Candidate& object, const PixelRect& place) const;

  const PictureRun& run_;
  const Rows& extras_;
  Values planes_; ///< Prototypes, or masks.
  std::int64_t columns_ = 0, rows_ = 0;
  bool prototypes_ = false;
  bool boxed_ = false;             ///< Masks cover their box, not the whole input.
  float even_ = 0;                 ///< Values above it are inside the object.
  std::optional<PixelGrid> whole_; ///< Grid of the picture; none where masks cover boxes.
};

/// Pixels of a box, rounded outwards.
PixelRect covered(const std::array<float, 4>& edges, std::int32_t width, std::int32_t height);

} // namespace lanner::tasks
