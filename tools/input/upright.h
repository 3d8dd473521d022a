#pragma once
// A clip that is stored turned, as players show it.

#include <lanner/video_reader.h>

namespace lanner::tool {

/// The stream that upright_image() makes of `stream`: its size, shape of pixels, format and place of chroma
/// samples.
StreamInfo upright_stream(const StreamInfo& stream);
/// The picture as a player shows it. Halved chroma of even sizes is turned sample by sample, so that nothing
/// is lost, where a stream can say how it lies then; else rotated_image() makes whole chroma of it.
Image upright_image(const Frame& frame);

} // namespace lanner::tool
