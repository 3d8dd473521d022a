#pragma once
// NAL units of H.264 and HEVC inside a packet.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <lanner/packet.h>

#include "video/bitstream/bits.h"

namespace lanner {

/// Size in bytes of the length before each NAL unit, from the stream's avcC or hvcC; 0 where start codes
/// separate the units.
int nal_length_bytes(const StreamInfo& stream);

/// Offset of the first start code of three bytes at or after `begin`; bytes.size() where there is none.
std::size_t start_code_at(Bytes bytes, std::size_t begin);

/// Iterates over the NAL units of one packet. A length that exceeds the packet is cut at its end.
class NalWalker {
public:
  NalWalker(Bytes bytes, int length_bytes);
  /// The next unit without its length or start code, possibly empty; nothing after the last one.
  std::optional<Bytes> next();

private:
  std::optional<Bytes> next_by_length();
  Bytes up_to_start_code();

  Bytes rest_;
  std::size_t length_bytes_;
};

/// The first `most` bytes of `unit` without emulation prevention bytes (H.264 7.4.1, H.265 7.4.2).
std::vector<std::byte> unescaped(Bytes unit, std::size_t most = SIZE_MAX);

} // namespace lanner
