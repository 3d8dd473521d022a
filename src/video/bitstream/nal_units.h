#pragma once
// NAL units of H.264 and HEVC inside a packet.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <lanner/packet.h>

#include "video/bitstream/bits.h"

namespace lanner {

/// Bytes of the length in front of every NAL unit, by the stream's avcC or hvcC; 0 where start codes part
/// them.
int nal_length_bytes(const StreamInfo& stream);

/// Place of the next start code of three bytes from `begin` on; size() where there is none.
std::size_t start_code_at(Bytes bytes, std::size_t begin);

/// Walks the NAL units of one packet. Nothing is trusted: a length that reaches beyond the end is cut there.
class NalWalker {
public:
  NalWalker(Bytes bytes, int length_bytes);
  /// The next unit without length or start code, perhaps empty.
  std::optional<Bytes> next();

private:
  std::optional<Bytes> next_by_length();
  Bytes up_to_start_code();

  Bytes rest_;
  std::size_t length_bytes_;
};

/// `unit` without its emulation prevention bytes (H.264 7.4.1, H.265 7.4.2): at most `most` bytes of it.
std::vector<std::byte> unescaped(Bytes unit, std::size_t most = SIZE_MAX);

} // namespace lanner
