#pragma once
// SEI messages of H.264 and HEVC and metadata OBUs of AV1, read from packets.

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <lanner/decoder.h>
#include <lanner/packet.h>

namespace lanner {

/// Reads the messages of one stream's packets; other codecs have none. Bytes are not trusted: a message that
/// reaches beyond its unit ends the unit, and of one packet at most 4096 messages are read. Messages that
/// stand in the extradata alone are not seen. Sources: H.264 7.3.2.3 and Annex D, H.265 7.3.2.4 and Annex D
/// (prefix and suffix SEI of layer 0), AV1 5.3 and 5.8.
class SeiScanner {
public:
  SeiScanner() = default;
  explicit SeiScanner(const StreamInfo& stream);
  /// The messages of one packet, in stream order. The payload of an AV1 metadata OBU follows its type; a
  /// byte that holds nothing but its trailing bits is left out.
  std::vector<SeiMessage> scan(std::span<const std::byte> packet) const;

private:
  enum class Codec : std::uint8_t { h264, hevc, av1, other };
  Codec codec_ = Codec::other;
  int length_bytes_ = 0; ///< Bytes of a NAL unit's length; 0 for start codes.
};

/// Messages that were read from packets and wait for the frame that begins in their packet. Packets whose
/// frame never comes do not pile up: the oldest go once 512 packets or 64 MiB wait.
class SeiQueue {
public:
  /// `packet` numbers the packets that were given to a decoder.
  void add(std::int64_t packet, std::vector<SeiMessage> messages);
  /// The messages of that packet; none when there are none.
  std::vector<SeiMessage> take(std::int64_t packet);
  void clear() noexcept;

private:
  struct Waiting {
    std::int64_t packet;
    std::uint64_t bytes;
    std::vector<SeiMessage> messages;
  };
  void drop_oldest();

  std::deque<Waiting> waiting_;
  std::uint64_t bytes_ = 0;
};

} // namespace lanner
