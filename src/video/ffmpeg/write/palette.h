#pragma once
// Pictures for encoders of a palette, such as GIF's.

#include <lanner/image.h>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// An rgb24 picture as FFmpeg's rgb8: 3 bits of red, 3 of green, 2 of blue, with an ordered dither, which
/// stays where it is from picture to picture.
FramePtr to_palette(const Image& image);

} // namespace lanner::ffmpeg
