#pragma once
// Packet in FFmpeg's terms.

#include <lanner/packet.h>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// Takes over an AVPacket; the result's bytes are its bytes.
Packet to_packet(PacketPtr packet);
/// An AVPacket for `packet`: a reference where this module made it, else a padded copy of the bytes. Times
/// and flags are always those of `packet`.
PacketPtr to_av(const Packet& packet);

} // namespace lanner::ffmpeg
