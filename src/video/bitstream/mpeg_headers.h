#pragma once
// Picture headers of MPEG-1, MPEG-2 and MPEG-4 part 2 video.

#include <vector>

#include <lanner/packet.h>

#include "video/bitstream/bits.h"
#include "video/bitstream/packet_traits.h"

namespace lanner {

/// Reads MPEG-1 and MPEG-2 packets in file order (ISO/IEC 11172-2 2.4.2, 13818-2 6.2).
class MpegHeaders {
public:
  PacketTraits scan(const Packet& packet);

private:
  bool lasting_matrices_ = false; ///< Quantizer matrices were changed outside a sequence header.
};

// Note [Packed pictures]
// AVI has no packets without a picture, so DivX and Xvid write a B-VOP into the packet of the VOP behind it
// that it refers to, and into the place left over a VOP of a few bytes that is not coded. Decoders keep what
// they have not decoded of a packet, decode it in place of the next one and keep that in turn: from there on
// frames bear the names of the packets behind theirs, until such a filler comes. What a packet says of itself
// then holds for another frame than the one it names, it is part of how that one is decoded, and decoding
// cannot begin there. A VOP that is not coded and fills no gap gives no frame at all.
// A decoder that begins at a packet leaves out the B-VOPs before the second reference, and does not keep what
// is behind them. It therefore reads the filler, which sets its clock, and the same pictures follow only
// where the filler repeats the entry's time.

/// Reads MPEG-4 part 2 packets in file order (ISO/IEC 14496-2 6.2).
class Mpeg4Headers {
public:
  /// `given` are the headers that the container has set apart.
  explicit Mpeg4Headers(Bytes given);
  PacketTraits scan(const Packet& packet);
  /// As of PacketScanner.
  const std::vector<std::int64_t>& inexact_entries() const noexcept { return inexact_; }

private:
  struct Planes;
  static Planes read(Bytes bytes);
  bool knows(Bytes header) const;
  EntryPoint entry_of(const Planes& seen) const;
  void follow_entry(const Planes& seen, bool waited);

  std::vector<std::byte> given_;
  std::int64_t ordinal_ = -1;  ///< Of the packet scanned last.
  bool waits_ = false;         ///< A picture of that packet may be decoded in place of the next.
  bool layer_changes_ = false; ///< Packets bring what given_ lacks.
  bool user_data_changes_ = false;
  std::int64_t entry_ = -1; ///< Of the newest one while no reference has followed it.
  std::vector<bool> entry_clock_;
  std::vector<std::int64_t> inexact_;
};

} // namespace lanner
