#include "video/bitstream/color_codes.h"

#include <algorithm>

#include "video/bitstream/h264_sps.h"
#include "video/bitstream/hevc_sps.h"
#include "video/bitstream/nal_units.h"
#include "video/bitstream/parameter_sets.h"

namespace lanner {

std::optional<ColorCodes> read_color_codes(BitReader& bits) {
  constexpr std::uint32_t own_aspect = 255;
  if (bits.flag() && bits.bits(8) == own_aspect) bits.skip(32);
  if (bits.flag()) bits.skip(1); // overscan_appropriate_flag
  if (!bits.flag()) return std::nullopt;
  bits.skip(4); // video_format, video_full_range_flag
  if (!bits.flag()) return std::nullopt;
  ColorCodes codes;
  codes.primaries = static_cast<int>(bits.bits(8));
  codes.transfer = static_cast<int>(bits.bits(8));
  codes.matrix = static_cast<int>(bits.bits(8));
  return bits.ended() ? std::nullopt : std::optional(codes);
}

ColorScanner::ColorScanner(const StreamInfo& stream) : length_bytes_(nal_length_bytes(stream)) {
  if (stream.codec == "h264") codec_ = Codec::h264;
  if (stream.codec == "hevc") codec_ = Codec::hevc;
  if (codec_ == Codec::other) return;
  for (const Bytes unit : given_units(stream.extradata, codec_ == Codec::hevc)) see_unit(unit);
}

void ColorScanner::see(const Packet& packet) {
  constexpr std::size_t looked_at = 64 << 10; // Sets stand before the picture.
  if (codec_ == Codec::other || !packet.key) return;
  NalWalker walker(packet.bytes.first(std::min(packet.bytes.size(), looked_at)), length_bytes_);
  while (const auto unit = walker.next()) see_unit(*unit);
}

void ColorScanner::see_unit(Bytes unit) {
  constexpr int h264_set = 7, hevc_set = 33;
  if (unit.size() < 2) return;
  const int first = byte_at(unit, 0), layer = (first & 1) << 5 | byte_at(unit, 1) >> 3;
  if (codec_ == Codec::h264 && (first & 31) == h264_set)
    codes_ = h264_colors(unit).value_or(ColorCodes{});
  else if (codec_ == Codec::hevc && (first >> 1 & 63) == hevc_set && layer == 0)
    codes_ = hevc_colors(unit).value_or(ColorCodes{});
}

} // namespace lanner
