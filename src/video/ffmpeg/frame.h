#pragma once
// Image and Frame in FFmpeg's terms.

#include <lanner/decoder.h>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// The picture of `frame` without a copy where its format has a twin, else converted to the nearest format.
/// Takes over the frame.
Image to_image(FramePtr frame, const Limits& limits);
/// A frame whose planes are those of `image`, kept alive by a reference. `format` must be an FFmpeg twin of
/// the image's, or bgr0 of bgra32.
FramePtr to_av(const Image& image, AVPixelFormat format);
/// The display matrix that came with `frame`, null without one.
const std::int32_t* display_matrix(const AVFrame& frame);

} // namespace lanner::ffmpeg
