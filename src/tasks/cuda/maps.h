#pragma once
// Maps that lie on a GPU: pixels are found there, and come to the host.

#include "tasks/read/grid.h"
#include "tasks/read/planes.h"
#include "tasks/read/reader.h"

namespace lanner::tasks {

/// A part of a map that becomes a picture, and how its numbers become bytes.
struct PicturePart {
  PixelRect part;
  bool bgr = false;
  float black = 0, scale = 1;
};

namespace cuda {

// Of remote values. All throw Error{bad_data} where a number is not finite.

/// i32 [height, width]: -1 where the network did not see the picture; of one channel 1 above `even`.
Tensor classes_there(const MapValues& map, const PixelGrid& grid, const PictureRun& run, float even);
/// f32 [height, width]: of one channel; `unseen` where the network did not see the picture.
Tensor numbers_there(const MapValues& map, const PixelGrid& grid, const PictureRun& run, float unseen);
/// Fills an image rgb24 of the part's size on the host.
void picture_there(const MapValues& map, const PicturePart& wanted, Image& image);

} // namespace cuda
} // namespace lanner::tasks
