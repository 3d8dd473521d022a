#pragma once
// NAL units of H.264 and HEVC inside packets (H.264 7.3.1 and Annex B, H.265 7.3.1, ISO/IEC 14496-15).

#include <optional>
#include <vector>

#include <lanner/packet.h>

#include "video/bits.h"

namespace lanner {

/// Walks the NAL units of a packet, by length prefix or by start code. Units may be empty.
class NalWalker {
public:
  /// `length_bytes` of a unit's length; 0 for start codes.
  NalWalker(Bytes bytes, int length_bytes);
  std::optional<Bytes> next();

private:
  std::optional<Bytes> next_by_length();
  Bytes up_to_start_code();

  Bytes rest_;
  std::size_t length_bytes_;
};

/// The first `most` bytes of a unit without its emulation prevention bytes.
std::vector<std::byte> unescaped(Bytes unit, std::size_t most = SIZE_MAX);

/// Parameter sets that a container keeps beside the packets, and how packets are framed.
struct NalFraming {
  int length_bytes = 0;
  std::vector<Bytes> parameter_sets; ///< Views of the extradata.
};
/// Reads an AVCDecoderConfigurationRecord or, with `hevc`, an HEVCDecoderConfigurationRecord; else takes the
/// bytes for units behind start codes.
NalFraming read_framing(Bytes extradata, bool hevc);
/// Bytes of the length in front of every NAL unit of a stream; 0 where start codes part them.
int nal_length_bytes(const StreamInfo& stream);

} // namespace lanner
