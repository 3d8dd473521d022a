#pragma once
// The best class of each pixel of a picture, by scores of places of a map.

#include "tasks/read/lines.h"
#include "tasks/read/planes.h"

namespace lanner::tasks {

/// Scores are blended, then the best is taken; where all four places around a pixel have one best class it is
/// that. `to` [height, width] receives the classes of pixels that the network saw.
void read_best_classes(const MapValues& map, const PixelGrid& grid, std::int32_t width, std::int32_t height,
                       const Limits& limits, std::int32_t* to);

} // namespace lanner::tasks
