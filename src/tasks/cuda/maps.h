#pragma once
// Reads maps on a GPU: computes pixels there and copies them to the host.

#include "tasks/read/grid.h"
#include "tasks/read/planes.h"
#include "tasks/read/reader.h"

namespace lanner::tasks {

/// A part of a map that becomes an image, and the conversion of its values to bytes.
struct PicturePart {
  PixelRect part;
  bool bgr = false;
  float black = 0, scale = 1;
};

namespace cuda {

// For remote values. All throw Error{bad_data} where a value is not finite.

/// i32 [height, width]: -1 where the network did not see the picture; for one channel 1 above `even`.
Tensor classes_there(const MapValues& map, const PixelGrid& grid, const PictureRun& run, float even);
/// f32 [height, width]: for one channel; `unseen` where the network did not see the picture.
Tensor numbers_there(const MapValues& map, const PixelGrid& grid, const PictureRun& run, float unseen);
/// Fills an rgb24 image of the part's size on the host.
void picture_there(const MapValues& map, const PicturePart& wanted, Image& image);

} // namespace cuda
} // namespace lanner::tasks
