#pragma once
// What a stream says that is not read as it says: told in the log, once a process for each source.

#include <string>

#include <lanner/packet.h>
#include <lanner/source.h>

#include "video/bitstream/color_codes.h"
#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// Why the opacity of the stream's pictures is not read; empty where it is, or where there is none.
/// `first_packet` may be empty.
std::string left_out_alpha(const StreamInfo& stream, ByteSource& source, const Packet& first_packet);

/// What the stream's own headers say, or its container where they are not read here.
ColorCodes color_codes(const AVCodecParameters& parameters, const StreamInfo& stream);
/// Which code points of H.273 are read as unspecified, being reserved; empty for none.
std::string reserved_colors(const ColorCodes& codes);

/// A line in the log, unless it was said before.
void note_once(const std::string& line);

} // namespace lanner::ffmpeg
