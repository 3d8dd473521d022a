#pragma once
// Masks as polygons.

#include <vector>

#include <lanner/task.h>

#include "tasks/read/result_parts.h"

namespace lanner {

/// The outer edge of the mask's largest part (of pixels that share a side), clockwise, in pixels of the
/// picture: straight along the pixels' edges, less corners that stand out by less than a pixel. Empty where
/// nothing is inside.
std::vector<Corner> outer_contour(const Mask& mask);

} // namespace lanner
