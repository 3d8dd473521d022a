#pragma once
// Animations: GIF, APNG and WebP, files of pictures that each have their own duration.

#include <cstdint>
#include <string>
#include <string_view>

#include <lanner/encoder.h>
#include <lanner/image.h>
#include <lanner/packet.h>

namespace lanner {

/// The format that the pictures are stored in: that of the options, or, where it is YUV, RGB for a container
/// (by FFmpeg's name) that has no YUV, with alpha if the first picture has it.
PixelFormat animation_format(std::string_view container, const EncoderOptions& options, const Image& first);
/// What players do not show of such a rate, as a line; empty where they do.
std::string animation_note(std::string_view container, double rate);
/// A packet that holds a whole WebP animation, which ends `milliseconds` after its first frame: the last
/// frame gets what is left of them (RFC 9649, 2.7.1.1). Other packets stay as they are.
Packet with_last_duration(Packet packet, std::int64_t milliseconds);

} // namespace lanner
