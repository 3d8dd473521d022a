#pragma once
// Decoded pictures whose memory no PixelFormat has: packed 4:2:2, big-endian samples, RGB of fewer than 8
// bits, palettes.

#include <lanner/image.h>

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace lanner::ffmpeg {

/// Whether unpack() knows how samples of `format` lie; else only swscale may (Bayer patterns, XYZ, floats).
bool can_unpack(AVPixelFormat format) noexcept;

/// The format that unpack() makes of `format`: RGB of RGB and palettes, gray of gray, else YUV of the same
/// chroma; with its alpha and of at least its depth.
PixelFormat unpacked_format(AVPixelFormat format) noexcept;

/// Fills `image`, which has the frame's size and unpacked_format(). Samples stay what they are as far as
/// depth and range say the same.
void unpack(const AVFrame& frame, Image& image);

} // namespace lanner::ffmpeg
