#pragma once
// Colours of H.264 and HEVC by the code points of their headers: FFmpeg gives those alone that it has names
// for.

#include <optional>

#include <lanner/packet.h>

#include "video/bitstream/bits.h"

namespace lanner {

/// Code points of H.273; 2 is unspecified.
struct ColorCodes {
  int primaries = 2, transfer = 2, matrix = 2;
};

/// From aspect_ratio_info_present_flag on, which is the same in both codecs (H.264 E.1.1, H.265 E.2.1).
std::optional<ColorCodes> read_color_codes(BitReader& bits);

/// Follows the sequence parameter sets of one stream. Other codecs have none here.
class ColorScanner {
public:
  ColorScanner() = default;
  /// Reads those that the container gives.
  explicit ColorScanner(const StreamInfo& stream);
  /// Reads those in a packet, if it is a keyframe's.
  void see(const Packet& packet);
  /// What the last one says.
  const ColorCodes& codes() const noexcept { return codes_; }

private:
  enum class Codec : std::uint8_t { h264, hevc, other };
  void see_unit(Bytes unit);

  Codec codec_ = Codec::other;
  int length_bytes_ = 0;
  ColorCodes codes_;
};

} // namespace lanner
