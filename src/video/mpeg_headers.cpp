#include "video/mpeg_headers.h"

#include <optional>

namespace lanner {

namespace {

/// What follows a start code 00 00 01, the code's own byte first.
class StartCodes {
public:
  explicit StartCodes(Bytes bytes) : rest_(bytes) {}
  std::optional<Bytes> next() {
    for (std::size_t i = 0; i + 3 < rest_.size(); ++i) {
      if (byte_at(rest_, i) != 0 || byte_at(rest_, i + 1) != 0 || byte_at(rest_, i + 2) != 1) continue;
      rest_ = rest_.subspan(i + 3);
      return rest_;
    }
    return std::nullopt;
  }

private:
  Bytes rest_;
};

constexpr std::uint32_t intra = 1, bidirectional = 3;

/// Pictures of one packet.
struct Pictures {
  int count = 0;
  bool first_is_intra = false, all_bidirectional = true, fields = false;
  bool sequence_header = false, group_header = false, closed = false, matrices = false;
};

void read_extension(Bytes unit, Pictures& seen) {
  BitReader bits(unit.subspan(1));
  const std::uint32_t kind = bits.bits(4);
  if (kind == 3) seen.matrices = true;
  if (kind != 8) return;
  bits.skip(16 + 2);
  if (bits.bits(2) != 3) seen.fields = true;
}

Pictures read_pictures(Bytes bytes) {
  Pictures seen;
  StartCodes codes(bytes);
  while (const auto unit = codes.next()) {
    const std::uint8_t code = byte_at(*unit, 0);
    if (code == 0xb3) seen.sequence_header = true;
    if (code == 0xb5) read_extension(*unit, seen);
    if (code == 0xb8 && seen.count == 0) {
      seen.group_header = true;
      BitReader bits(unit->subspan(1));
      bits.skip(25); // time_code
      seen.closed = bits.flag();
    }
    if (code != 0) continue;
    BitReader bits(unit->subspan(1));
    bits.skip(10); // temporal_reference
    const std::uint32_t type = bits.bits(3);
    if (seen.count++ == 0) seen.first_is_intra = type == intra;
    seen.all_bidirectional = seen.all_bidirectional && type == bidirectional;
  }
  return seen;
}

} // namespace

PacketTraits MpegHeaders::scan(const Packet& packet) {
  const Pictures seen = read_pictures(packet.bytes);
  PacketTraits traits;
  if (seen.count == 0) { // Headers that the container has set apart: its word is all there is.
    traits.start = packet.key ? EntryPoint::inexact : EntryPoint::none;
    return traits;
  }
  traits.disposable = seen.all_bidirectional && !seen.fields;
  if (seen.first_is_intra) {
    const bool whole = seen.sequence_header || (seen.group_header && !lasting_matrices_);
    traits.start = !whole ? EntryPoint::inexact : seen.closed ? EntryPoint::clean : EntryPoint::open;
  }
  lasting_matrices_ = lasting_matrices_ || seen.matrices;
  return traits;
}

PacketTraits scan_mpeg4(const Packet& packet) {
  PacketTraits traits;
  traits.shown = true;
  int count = 0;
  bool closed = false, bidirectional_first = false;
  StartCodes codes(packet.bytes);
  while (const auto unit = codes.next()) {
    BitReader bits(unit->subspan(1));
    if (byte_at(*unit, 0) == 0xb3) { // Group of VOPs: time_code with its marker, then closed_gov.
      bits.skip(18);
      closed = bits.flag();
    }
    if (byte_at(*unit, 0) != 0xb6) continue;
    const std::uint32_t type = bits.bits(2); // I, P, B, S
    if (count++ > 0) continue;
    bidirectional_first = type == 2;
    if (type == 0) traits.start = closed ? EntryPoint::clean : EntryPoint::open;
  }
  traits.disposable = count == 1 && bidirectional_first;
  if (count == 0 && packet.key) traits.start = EntryPoint::inexact;
  return traits;
}

} // namespace lanner
