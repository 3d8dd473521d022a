#pragma once
// What a packet's first bytes say: whether decoding may start there, whether it shows a picture, and whether
// others depend on it.

#include <memory>
#include <vector>

#include <lanner/packet.h>

#include "video/bitstream/packet_traits.h"

namespace lanner {

/// Reads traits of one stream's packets, which are given in file order. Bytes are not trusted. Of codecs that
/// are not known here the container's keyframes are EntryPoint::inexact. Sources: H.264 7.4.1, 8.2.5.2 and
/// D.2.8 (recovery point), H.265 7.4.2.2, 8.1.3 (RASL) and D.3.8, RFC 6386 9.1, VP9 bitstream 6.2; for the
/// others see mpeg_headers.h and av1_units.h.
class PacketScanner {
public:
  explicit PacketScanner(const StreamInfo& stream);
  ~PacketScanner();
  PacketTraits scan(const Packet& packet);
  /// Ordinals (places in file order) of packets whose `start` is less than scan() said: inexact. To be asked
  /// when the whole stream was scanned; see Note [Parameter sets].
  std::vector<std::int64_t> inexact_entries() const;
  /// Whether the stream says of itself that some picture is shown before one decoded before it. Where a
  /// packet tells that, PacketTraits::reordered does.
  bool reorders() const noexcept;
  /// Whether more than the container's word is known.
  bool knows_codec() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
