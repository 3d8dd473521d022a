#pragma once
// Masks of objects, in pixels of the picture.

#include "tasks/heads/head.h"
#include "tasks/reader.h"

namespace lanner::tasks {

/// The mask of one object: inside its box (`edges`, in pixels of the picture), where the network says more
/// than even. `box` is the same in pixels of the network's input.
class MaskMaker {
public:
  MaskMaker(const PictureRun& run, const HeadRun& head, const Rows& extras);
  Mask operator()(const Candidate& candidate, const std::array<float, 4>& edges) const;

private:
  struct Map { ///< A part of what the network says of an object.
    std::vector<float> values;
    std::int32_t left = 0, top = 0, width = 0;
    float at(std::int32_t x, std::int32_t y) const {
      return values[static_cast<std::size_t>(std::int64_t{y - top} * width + (x - left))];
    }
  };
  Map map_of(std::int64_t row, const PixelGrid::Bounds& bounds) const;

  const PictureRun& run_;
  const Rows& extras_;
  Values prototypes_, masks_;
  std::int64_t columns_ = 0, rows_ = 0;
  bool boxed_ = false; ///< Masks cover their box, not the input.
  float even_ = 0;     ///< Above it lies the object.
};

/// Pixels that a box covers, rounded outwards.
PixelRect covered(const std::array<float, 4>& edges, std::int32_t width, std::int32_t height);

} // namespace lanner::tasks
