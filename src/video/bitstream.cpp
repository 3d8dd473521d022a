#include "video/bitstream.h"

#include <algorithm>
#include <optional>

#include "video/nal_units.h"

namespace lanner {

namespace {

using Bytes = std::span<const std::byte>;

std::uint8_t byte_at(Bytes bytes, std::size_t i) {
  return std::to_integer<std::uint8_t>(bytes[i]);
}

// Whether an SEI unit of H.264 holds a recovery point that is reached at once and exactly: the payload begins
// with recovery_frame_cnt as ue(v), `1` for zero, and then exact_match_flag.
bool exact_recovery_point(Bytes unit) {
  std::size_t i = 1;
  while (i + 2 < unit.size()) {
    std::size_t type = 0, size = 0;
    for (; i < unit.size() && byte_at(unit, i) == 0xff; ++i) type += 0xff;
    if (i >= unit.size()) return false;
    type += byte_at(unit, i++);
    for (; i < unit.size() && byte_at(unit, i) == 0xff; ++i) size += 0xff;
    if (i >= unit.size()) return false;
    size += byte_at(unit, i++);
    if (size > unit.size() - i) return false;
    if (type == 6) return size > 0 && (byte_at(unit, i) & 0xc0) == 0xc0;
    i += size;
  }
  return false;
}

// VP9: frame_marker, profile, show_existing_frame, frame_type, show_frame. A superframe, known by its last
// byte, always ends in a shown frame.
bool vp9_shown(Bytes bytes) {
  if (bytes.empty() || (byte_at(bytes, bytes.size() - 1) & 0xe0) == 0xc0) return true;
  const std::uint8_t first = byte_at(bytes, 0);
  const int profile = (first >> 5 & 1) | (first >> 3 & 2);
  const int shift = profile == 3 ? 1 : 0;
  const bool show_existing = first >> (3 - shift) & 1;
  if (show_existing) return true;
  return first >> (1 - shift) & 1;
}

constexpr std::string_view resetting_codecs[] = {
    "av1",      "mjpeg", "ffv1",    "prores", "dnxhd",    "png",  "gif",      "huffyuv", "ffvhuff",
    "rawvideo", "v210",  "utvideo", "qtrle",  "jpeg2000", "cfhd", "magicyuv", "webp",    "bmp"};

} // namespace

std::string_view to_string(EntryPoint entry) noexcept {
  switch (entry) {
  case EntryPoint::none:
    return "none";
  case EntryPoint::clean:
    return "clean";
  case EntryPoint::broken_link:
    return "broken_link";
  case EntryPoint::open:
    return "open";
  case EntryPoint::recovery:
    return "recovery";
  case EntryPoint::inexact:
    return "inexact";
  }
  return "?";
}

PacketScanner::PacketScanner(const StreamInfo& stream) : length_bytes_(nal_length_bytes(stream)) {
  if (stream.codec == "h264") {
    codec_ = Codec::h264;
  } else if (stream.codec == "hevc") {
    codec_ = Codec::hevc;
  } else if (stream.codec == "vp8") {
    codec_ = Codec::vp8;
  } else if (stream.codec == "vp9") {
    codec_ = Codec::vp9;
  } else if (std::find(std::begin(resetting_codecs), std::end(resetting_codecs), stream.codec) !=
             std::end(resetting_codecs)) {
    codec_ = Codec::resetting;
  }
}

PacketTraits PacketScanner::scan(const Packet& packet) {
  const EntryPoint clean = packet.key ? EntryPoint::clean : EntryPoint::none;
  if (packet.bytes.empty()) return {EntryPoint::none, false};
  switch (codec_) {
  case Codec::h264:
    return scan_h264(packet);
  case Codec::hevc:
    return scan_hevc(packet);
  case Codec::vp8:
    return {clean, (byte_at(packet.bytes, 0) & 0x10) != 0};
  case Codec::vp9:
    return {clean, vp9_shown(packet.bytes)};
  case Codec::resetting:
    return {clean, true};
  case Codec::other:
    break;
  }
  return {packet.key ? EntryPoint::open : EntryPoint::none, true};
}

PacketTraits PacketScanner::scan_h264(const Packet& packet) const {
  NalWalker walker(packet.bytes, length_bytes_);
  bool recovery = false;
  while (const auto unit = walker.next()) {
    if (unit->empty()) continue;
    const int type = byte_at(*unit, 0) & 31;
    if (type == 5) return {EntryPoint::clean, true};
    if (type == 6) recovery = recovery || exact_recovery_point(*unit);
    if (type == 1) return {packet.key && recovery ? EntryPoint::recovery : EntryPoint::none, true};
  }
  return {EntryPoint::none, false}; // No slice, no picture.
}

PacketTraits PacketScanner::scan_hevc(const Packet& packet) {
  NalWalker walker(packet.bytes, length_bytes_);
  PacketTraits traits;
  bool seen = false;
  while (const auto unit = walker.next()) {
    if (unit->empty()) continue;
    const int type = byte_at(*unit, 0) >> 1 & 63;
    if (type == 36 || type == 37) sequence_begins_ = true; // End of sequence, end of bitstream.
    if (type > 31 || seen) continue;
    seen = true;
    if (type >= 16 && type <= 21) { // BLA, IDR, CRA.
      skips_leading_ = type <= 20 || sequence_begins_;
      sequence_begins_ = false;
      traits.start = type >= 21 ? EntryPoint::open : type <= 18 ? EntryPoint::broken_link : EntryPoint::clean;
    }
    if ((type == 8 || type == 9) && skips_leading_) traits.shown = false;
  }
  traits.shown = traits.shown && seen;
  return traits;
}

} // namespace lanner
