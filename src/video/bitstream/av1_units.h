#pragma once
// Temporal units of AV1 (AV1 bitstream specification 5.3 to 5.9, 7.6).

#include <lanner/packet.h>

#include "video/bitstream/bits.h"
#include "video/bitstream/packet_traits.h"

namespace lanner {

/// Reads the temporal units of one stream in file order.
class Av1Units {
public:
  explicit Av1Units(Bytes extradata);
  PacketTraits scan(const Packet& packet);

private:
  bool reduced_ = false; ///< reduced_still_picture_header of the newest sequence header.
};

} // namespace lanner
