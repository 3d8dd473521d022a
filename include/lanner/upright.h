#pragma once
// Clips stored rotated, made upright as players show them.

#include <lanner/video_reader.h>

namespace lanner {

/// The stream that upright_image() makes of `stream`: its size, pixel aspect, format and chroma siting
/// samples.
StreamInfo upright_stream(const StreamInfo& stream);
/// The image as a player shows it. Halved chroma of even sizes is rotated sample by sample, so that nothing
/// is lost, where a stream can express the resulting siting; else rotated_image() converts to full chroma.
Image upright_image(const Frame& frame);

} // namespace lanner
