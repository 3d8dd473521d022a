#include "video/mpeg_headers.h"

#include <algorithm>
#include <optional>

#include "video/nal_units.h"

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
  traits.reordered = seen.all_bidirectional;
  if (seen.first_is_intra) {
    const bool whole = seen.sequence_header || (seen.group_header && !lasting_matrices_);
    traits.start = !whole ? EntryPoint::inexact : seen.closed ? EntryPoint::clean : EntryPoint::open;
  }
  lasting_matrices_ = lasting_matrices_ || seen.matrices;
  return traits;
}

namespace {

constexpr std::size_t most_filler_bytes = 19, most_ignored_bytes = 7;
constexpr std::size_t most_given_bytes = 4096, most_header_bytes = 256; // So that comparing stays cheap.

/// What one packet of MPEG-4 part 2 holds.
struct ObjectPlanes {
  int count = 0;
  std::uint32_t types[2] = {}; ///< Of the first two: I, P, B, S.
  std::size_t first_bytes = 0; ///< From the first one's start code on.
  bool closed = false;
  Bytes layer, user_data; ///< Headers before the first, from behind their start codes on.

  bool is_early(int which) const { return types[which] == 0 || types[which] == 2; }
};

ObjectPlanes read_planes(Bytes bytes) {
  ObjectPlanes seen;
  StartCodes codes(bytes);
  bool in_user_data = false;
  while (const auto unit = codes.next()) {
    const std::uint8_t code = byte_at(*unit, 0);
    BitReader bits(unit->subspan(1));
    if (in_user_data && (code == 0xb3 || code == 0xb6)) {
      seen.user_data = seen.user_data.first(seen.user_data.size() - unit->size() - 3);
      in_user_data = false;
    }
    if (code == 0xb3) { // Group of VOPs: time_code with its marker, then closed_gov.
      bits.skip(18);
      seen.closed = bits.flag();
    }
    if (seen.count == 0 && code >= 0x20 && code <= 0x2f) seen.layer = unit->first(start_code_at(*unit, 0));
    if (seen.count == 0 && code == 0xb2 && seen.user_data.empty()) {
      seen.user_data = *unit;
      in_user_data = true;
    }
    if (code != 0xb6) continue;
    if (seen.count < 2) seen.types[seen.count] = bits.bits(2);
    if (seen.count++ == 0) seen.first_bytes = unit->size() + 3;
  }
  return seen;
}

} // namespace

Mpeg4Headers::Mpeg4Headers(Bytes given) {
  const Bytes taken = given.first(std::min(given.size(), most_given_bytes));
  given_.assign(taken.begin(), taken.end());
}

// User data says which encoder's faults a decoder allows for, and whether pictures are packed.
bool Mpeg4Headers::knows(Bytes header) const {
  return header.empty() ||
         (header.size() <= most_header_bytes && !std::ranges::search(given_, header).empty());
}

PacketTraits Mpeg4Headers::scan(const Packet& packet) {
  const ObjectPlanes seen = read_planes(packet.bytes);
  const bool waited = waits_;
  PacketTraits traits;
  if (packet.bytes.empty()) return traits;
  if (seen.count == 0 && packet.key) traits.start = EntryPoint::inexact;
  if (seen.count > 0 && seen.types[0] == 0) {
    const bool whole =
        !((layer_changes_ && seen.layer.empty()) || (user_data_changes_ && seen.user_data.empty()));
    traits.start = !whole ? EntryPoint::inexact : seen.closed ? EntryPoint::clean : EntryPoint::open;
  }
  layer_changes_ = layer_changes_ || !knows(seen.layer);
  user_data_changes_ = user_data_changes_ || !knows(seen.user_data);
  traits.disposable = seen.count == 1 && seen.types[0] == 2;
  traits.reordered = traits.disposable;
  traits.doubtful = waited || seen.count > 1 || (seen.count == 1 && seen.first_bytes <= most_filler_bytes);
  // Which of the pictures wait is the word of FFmpeg's decoder.
  waits_ = waited ? packet.bytes.size() > most_ignored_bytes && seen.count > 0 && seen.is_early(0)
                  : seen.count > 1 && seen.is_early(1);
  if (!waited) return traits;
  traits.start = EntryPoint::none;
  traits.disposable = traits.reordered = false;
  traits.other_picture = true;
  return traits;
}

} // namespace lanner
