#pragma once
// Rotates frames of clips that are stored rotated, so that they are as players show them.

#include <lanner/video_reader.h>

namespace lanner {

/// The stream of the images that upright_image() makes of the frames of `stream`: with their size, pixel
/// aspect ratio, format and chroma siting.
StreamInfo upright_stream(const StreamInfo& stream);
/// The image as a player shows it. A 4:2:0 image of even size keeps its format and is rotated sample by
/// sample, without loss, if there is a ChromaSiting for the rotated chroma samples; others are rotated by
/// rotated_image(), which converts YUV to 4:4:4.
Image upright_image(const Frame& frame);

} // namespace lanner
