#pragma once
// The best class of each pixel of a picture, from a map of scores.

#include "tasks/read/lines.h"
#include "tasks/read/planes.h"

namespace lanner::tasks {

/// Interpolates scores, then takes the best; where all four map positions around a pixel have the same best
/// class it is that one. Writes to `to` [height, width] the classes of pixels that the network saw.
void read_best_classes(const MapValues& map, const PixelGrid& grid, std::int32_t width, std::int32_t height,
                       const Limits& limits, std::int32_t* to);

} // namespace lanner::tasks
