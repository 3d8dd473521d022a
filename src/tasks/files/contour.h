#pragma once
// Masks as polygons.

#include <vector>

#include <lanner/task.h>

#include "tasks/read/result_parts.h"

namespace lanner {

/// The outer edge of the mask's largest part (of pixels that share a side), clockwise, in pixels of the
/// picture: along the pixels' edges, without corners that stand out by less than a pixel. Empty where the
/// mask is.
std::vector<Corner> outer_contour(const Mask& mask);

} // namespace lanner
