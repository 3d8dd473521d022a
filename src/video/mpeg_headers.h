#pragma once
// Picture headers of MPEG-1, MPEG-2 and MPEG-4 part 2 video.

#include <lanner/packet.h>

#include "video/bits.h"
#include "video/packet_traits.h"

namespace lanner {

/// Reads MPEG-1 and MPEG-2 packets in file order (ISO/IEC 11172-2 2.4.2, 13818-2 6.2).
class MpegHeaders {
public:
  PacketTraits scan(const Packet& packet);

private:
  bool lasting_matrices_ = false; ///< Quantizer matrices were changed outside a sequence header.
};

/// Reads an MPEG-4 part 2 packet (ISO/IEC 14496-2 6.2).
PacketTraits scan_mpeg4(const Packet& packet);

} // namespace lanner
