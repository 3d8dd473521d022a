#pragma once
// What a packet's first bytes say: whether decoding may start there, and whether it shows a picture.

#include <cstdint>
#include <span>

#include <lanner/packet.h>

namespace lanner {

struct PacketTraits {
  EntryPoint start = EntryPoint::none;
  bool shown = true; ///< The decoder gives a frame for it when decoding began at the stream's first packet.
};

/// Reads traits of one stream's packets, which are given in file order. Bytes are not trusted: what cannot be
/// read falls back to the container's key flag. Sources: H.264 7.4.1 and D.2.8 (recovery point),
/// H.265 7.4.2.2 and 8.1.3 (RASL), RFC 6386 9.1, VP9 bitstream 6.2.
class PacketScanner {
public:
  explicit PacketScanner(const StreamInfo& stream);
  PacketTraits scan(const Packet& packet);

private:
  PacketTraits scan_h264(const Packet& packet) const;
  PacketTraits scan_hevc(const Packet& packet);

  enum class Codec { h264, hevc, vp8, vp9, resetting, other };
  Codec codec_ = Codec::other;
  int length_bytes_ = 0;        ///< Bytes of a NAL unit's length; 0 for start codes.
  bool sequence_begins_ = true; ///< The next HEVC random access picture has NoRaslOutputFlag.
  bool skips_leading_ = false;  ///< RASL pictures of the current one are not shown.
};

} // namespace lanner
